"""Certificates for tests, each as one line without a frame: a scalar of YAML without line breaks. Their keys are thrown away."""

from __future__ import annotations

from textwrap import wrap

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
