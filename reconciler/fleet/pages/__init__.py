"""Pages: values of the model to HTML and SVG. Pure, but for reading the templates and files of the package.

In: a view (`views`), filled from rows by whoever answers a request. Out: a page, or the part of one that htmx replaces. The paths of the
pages are in `links`, what a list is asked for in `query`, the files that pages ask for in `assets`.

Every page works without a script: links and forms do what htmx does without loading the whole page.

Forms send `csrf` and, as `application/x-www-form-urlencoded`, by POST:

- approve: `digest`, `change` (once for each class that is approved), `reason`
- reject: `digest`, `reason`
- pause: `until` (`1h`, `4h`, `1d`, `7d`, `30d`), `reason`
- resume, sync, and the logout: nothing else
- the login with a token: `token`, `back`
"""
