"""Plans, outcomes and drift for people and programs: pure strings and data, no I/O, no clock. One file per format.

- `text`: a plan as people read it (`change`: one change); `outcome`, `drift`, `history`, `undo`, `findings`: the other reports
- `entries`: any of them as entries, for `markdown`, `html` (with a `picture`) and `github`
- `documents`, `saved`, `tracked`: the same as data; `schemas/` describes all documents
- `graph`: resources or steps as mermaid or dot
- `layout`, `table`: columns, wrapping, styles; `values`, `nested`, `times`, `certificate`: single values
"""
