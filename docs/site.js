// Beside the theme: wide tables can be scrolled with the keyboard, and the buttons of a code block are not a landmark of the page.
addEventListener("load", () => {
  const observer = new ResizeObserver(entries => {
    for (const { target } of entries) {
      const attributes = { tabindex: "0", role: "group", "aria-label": "Wide table" }
      for (const [name, value] of Object.entries(attributes))
        target.scrollWidth > target.clientWidth ? target.setAttribute(name, value) : target.removeAttribute(name)
    }
  })
  for (const frame of document.querySelectorAll(".md-typeset__scrollwrap")) observer.observe(frame)
  for (const buttons of document.querySelectorAll(".md-code__nav")) buttons.setAttribute("role", "none")
})
