"""Plans and outcomes for people and programs: pure strings and data, no I/O, no clock.

- `text`: a plan as people read it (`change`: one change; `summary`: the last lines); `outcome`: what an apply did
- `drift`: what changed outside, as people read it
- `sheet`: any of them as entries, for `markdown`, `html` (with a `picture`) and `github`
- `documents`: the same as JSON, described by `schemas`
- `graph`: resources or steps as mermaid or dot
- `layout`: columns, wrapping, styles; `values`: values of fields
- `masks`: secrets taken out of texts and data
- `escape`: one encoder for each place a text can go
"""
