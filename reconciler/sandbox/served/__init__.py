"""Published sites as their readers get them, at `/published/{site}/…`: `page.page_of` is the function, `routes` its HTTP."""
