"""Plans, outcomes and drift for people and programs: pure strings and data, no I/O, no clock.

The way of a plan:

    Plan --plan.plan_sheet--> Sheet --sheet.sheet_text-> spans of a screen
                                |-----markdown, html---> files
                                |-----annotations------> lines of a CI, SARIF, JUnit, Code Quality
                                `-----comment/---------> a part of a pull request's comment

    Plan --documents.plan_document--> a JSON document, whose keys are in schemas/
    a JSON document --reading.sheet_of--> Sheet

- composers: `plan`, `outcome`, `drift`, `findings`. They decide what people see and in which order, and print nothing.
- printers: `sheet.sheet_text`, `markdown`, `html`, `annotations`, `comment/`. They print a `sheet`, and decide nothing.
- data: `documents` and `schemas/`; `reading` reads a document back, `saved` adds what `apply --plan` checks
- reports that are not about changes have forms of their own: `access`, `history`, `checks`, `explain`, `graph`
- `layout`: columns, wrapping and tables of a terminal; `words`: signs, nouns and single values; `types`: the types of
  fields, and example YAML
"""
