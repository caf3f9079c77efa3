# Three images: the program (the default), the sandbox that serves (--target sandbox), and the workers and the dashboard of a fleet
# (--target fleet). docs/how-to/run-in-a-container.md and docs/how-to/deploy-a-fleet.md show them.
# Every package is pinned by hash. A tag moves; to pin the base too, pass what `docker buildx imagetools inspect python:3.13-slim` says:
#   docker build --build-arg BASE=docker.io/library/python:3.13-slim@sha256:DIGEST .
ARG BASE=docker.io/library/python:3.13-slim

FROM ${BASE} AS build
WORKDIR /source
ENV PIP_NO_CACHE_DIR=1 PIP_NO_DEPS=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY .ci/requirements-build.txt reconciler/requirements*.txt ./
RUN python -m venv /opt/builder \
 && /opt/builder/bin/python -m pip install --only-binary :all: --require-hashes \
      --requirement requirements-build.txt --requirement requirements.txt --requirement requirements-sandbox.txt \
 && python -m venv /opt/reconciler \
 && /opt/reconciler/bin/python -m pip install --only-binary :all: --require-hashes \
      --requirement requirements.txt --requirement requirements-sandbox.txt --requirement requirements-otel.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY reconciler reconciler
RUN /opt/builder/bin/python -m pip wheel --no-build-isolation --wheel-dir /wheels . \
 && /opt/reconciler/bin/python -m pip install --no-index /wheels/*.whl \
 && mkdir /empty

# From here on nothing is run: the base needs Python, and neither a shell nor a package manager.
FROM ${BASE} AS program
LABEL org.opencontainers.image.title="reconciler" \
      org.opencontainers.image.description="Documentation organizations as code: plan and apply members, teams, content and sites from YAML." \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/reconciler /opt/reconciler
COPY --from=build --chown=10001:10001 /empty /work
COPY --from=build --chown=10001:10001 /empty /data
COPY --from=build --chown=10001:10001 /empty /home/reconciler
ENV PATH=/opt/reconciler/bin:$PATH HOME=/home/reconciler PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /work
USER 10001:10001
ENTRYPOINT ["reconciler"]
CMD ["--help"]

FROM build AS build-fleet
WORKDIR /source
RUN /opt/reconciler/bin/python -m pip install --only-binary :all: --require-hashes --requirement requirements-fleet.txt

# Workers need git, and ssh where repositories are read with it.
FROM ${BASE} AS fleet
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends git openssh-client \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build-fleet /opt/reconciler /opt/reconciler
COPY --from=build --chown=10001:10001 /empty /data
COPY --from=build --chown=10001:10001 /empty /home/reconciler
ENV PATH=/opt/reconciler/bin:$PATH HOME=/home/reconciler PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
USER 10001:10001
ENTRYPOINT ["reconciler"]
CMD ["fleet", "--help"]

FROM program AS sandbox
VOLUME /data
HEALTHCHECK --interval=5s --timeout=4s --start-period=20s CMD ["python", "-I", "-c", "\
from http.client import HTTPConnection; \
connection = HTTPConnection('127.0.0.1', 8080, timeout=3); \
connection.request('GET', '/v1/user'); \
raise SystemExit(connection.getresponse().status >= 500)"]
ENTRYPOINT ["reconciler", "sandbox", "serve", "--db", "/data/sandbox.db", "--port", "8080"]
CMD []

FROM program
