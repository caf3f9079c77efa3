"""Pages: render values of the model as HTML and SVG. Pure, except that it reads the templates and files of the package.

In: a view (`views`), filled from rows by the routes. Out: a page, or the part of one that htmx replaces. The paths of the pages are in
`links`, the filters of lists in `query`, the static files in `assets`.

Every page works without a script: links and forms do what htmx does without loading the whole page.

Forms send `csrf` and, as `application/x-www-form-urlencoded`, by POST:

- approve: `digest`, `change` (once for each class that is approved), `reason`
- reject: `digest`, `reason`
- revert: `digest`, `address` (once for each resource; without any, all of them)
- ignore: the same, `until` (a day), `reason`
- pause: `until` (`1h`, `4h`, `1d`, `7d`, `30d`), `reason`
- resume, sync, and the logout: nothing else
- the login with a token: `token`, `back`
"""
