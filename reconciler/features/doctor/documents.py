"""The document of `doctor`."""

from __future__ import annotations

from typing import Final

from reconciler.report.schemas.documents import PrintedDocument
from reconciler.report.schemas.runs import DoctorDocument

DOCUMENTS: Final = (PrintedDocument("doctor", "Problems that doctor found", DoctorDocument),)
