// Tables and formulas that are wider than the window scroll; the keyboard must reach them.
function reachable() {
  for (const part of document.querySelectorAll(".md-typeset__scrollwrap, .formula")) {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
    else part.removeAttribute("tabindex");
  }
}
addEventListener("load", () => setTimeout(reachable));
addEventListener("resize", reachable);
