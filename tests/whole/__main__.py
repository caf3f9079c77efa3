"""`python -m tests.whole [SCENE …]`: write the documents again; read the difference before it is committed."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.whole.scenes import DOCUMENTS, SCENES, texts

for name, scene in SCENES.items():
    if name in (sys.argv[1:] or SCENES):
        with tempfile.TemporaryDirectory() as folder:
            for document, text in texts(scene, Path(folder)).items():
                (DOCUMENTS / f"{name}.{document}.json").write_text(text, encoding="utf-8")
