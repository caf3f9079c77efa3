"""The preview of a rehearsal as HTML.

document -> first_screen.first_screen     what somebody must know before they approve: a part that other pages can include
document, data -> page.page               the whole page: first screen, requests, readers, every site before and after
"""
