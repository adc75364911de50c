// Typesets the formulas that Markdown leaves as \( … \) and \[ … \]; no network, and nothing is written twice.
(function () {
  "use strict";
  function typeset() {
    document.querySelectorAll(".arithmatex").forEach(function (element) {
      if (element.dataset.typeset) return;
      const source = element.textContent.trim();
      const display = source.startsWith("\\[");
      const tex = source.replace(/^\\[[(]/, "").replace(/\\[\])]$/, "");
      element.dataset.typeset = "yes";
      katex.render(tex, element, { displayMode: display, throwOnError: false });
      if (display) {
        // A formula that scrolls must be reachable by keyboard.
        element.tabIndex = 0;
        element.setAttribute("role", "group");
        element.setAttribute("aria-label", "formula");
      }
    });
    // The theme gives the dialog of its search no name.
    document.querySelectorAll("[data-md-component=search][role=dialog]").forEach(function (element) {
      element.setAttribute("aria-label", "Search");
    });
    // A paragraph that holds nothing but a picture is a figure, which scrolls on a narrow screen.
    document.querySelectorAll(".md-typeset p > img:only-child").forEach(function (element) {
      const paragraph = element.parentElement;
      if (paragraph.textContent.trim()) return;
      paragraph.classList.add("figure");
      paragraph.tabIndex = 0;
      paragraph.setAttribute("role", "group");
      paragraph.setAttribute("aria-label", "figure");
    });
    // So must a table or a block of code that is wider than the screen.
    document.querySelectorAll(".md-typeset__scrollwrap, .highlight pre > code").forEach(function (element) {
      element.tabIndex = 0;
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", typeset);
  else typeset();
})();
