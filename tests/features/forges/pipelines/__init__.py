"""The action and the component, run by runners of our own: what `action.yml` and `templates/reconciler.yml` say is read and executed.

`expressions` and `github` are a runner of GitHub Actions, `gitlab` is one of GitLab CI, `repository` is a bare git repository, and `kept`
adds artifacts to the fakes of both services. Only the installation of packages is emulated (`python`); test_documents.py runs it for real.
"""
