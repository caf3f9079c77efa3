"""Certificates for tests, each as one line without a frame: a scalar of YAML without line breaks. Their keys are thrown away.

And one with its key, for a server.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from textwrap import wrap

import pytest

IDP = (
    "MIIBQjCB9aADAgECAhQsGrvKiB6sJ01rTly0LQtpmJ+muTAFBgMrZXAwFjEUMBIGA1UEAwwLaWRwLmV4YW1wbGUwIBcNMjYxMTI2MDEyMjI0Wh"
    "gPMjEyNjExMDIwMTIyMjRaMBYxFDASBgNVBAMMC2lkcC5leGFtcGxlMCowBQYDK2VwAyEAP/SAE3P21zErPNEr3ITAmdOG5gq8eeg/rDXeoCdr"
    "qnijUzBRMB0GA1UdDgQWBBSKbBv1wc/WziAaWwnjGdpiHUfWzzAfBgNVHSMEGDAWgBSKbBv1wc/WziAaWwnjGdpiHUfWzzAPBgNVHRMBAf8EBT"
    "ADAQH/MAUGAytlcANBANCyYzD8DYgNrSV7IgJohpI2m8wayJ4w4UFFnZQdf1u3EY9MCkJFfxw+XTzrYRCgbhTJf7f+/RskuAmRRdOC6g0="
)
"""Of CN=idp.example, valid for 100 years."""

OTHER = (
    "MIIBRjCB+aADAgECAhQGJMJSaxqESCODqn27HetA/R7adjAFBgMrZXAwGDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTAgFw0yNjExMjYwMTIyMj"
    "RaGA8yMTI2MTEwMjAxMjIyNFowGDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTAqMAUGAytlcAMhAFjPsWtz0NrDJ8D5pCsoEBR5Ib4ISjFjFLvE"
    "stamzYsFo1MwUTAdBgNVHQ4EFgQUM2IuYEiolXI7sfdIxOFSavOBqOIwHwYDVR0jBBgwFoAUM2IuYEiolXI7sfdIxOFSavOBqOIwDwYDVR0TAQ"
    "H/BAUwAwEB/zAFBgMrZXADQQCh/kbEZUtjI7EpfoX9bRlmU+YH8g/IUQMmP2dp3Sey4w9VTXvZz3f4m0Ze8b96t+YxQF/PAkpqrDYG4yDN/n4I"
)
"""Of CN=other.example, valid for 100 years."""


def pem(line: str) -> str:
    """A certificate as a file has it, which is what the program sends."""
    return "\n".join(["-----BEGIN CERTIFICATE-----", *wrap(line, 64), "-----END CERTIFICATE-----", ""])


def untrusted(folder: Path) -> Path:
    """A certificate and its key in one file, for localhost, that nobody trusts."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = (
        f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout {key} -out {cert}"
    )
    subprocess.run([openssl, *command.split()], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(cert.read_bytes() + key.read_bytes())
    return both
