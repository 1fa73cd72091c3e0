"use strict";
document.addEventListener("DOMContentLoaded", () => {
  for (const [selector, name] of [[".sidebar-drawer", "Navigation"], [".toc-drawer", "Headings of this page"]])
    document.querySelector(selector)?.setAttribute("aria-label", name);
  for (const caption of document.querySelectorAll('.caption[role="heading"]')) caption.setAttribute("aria-level", "2");
  for (const head of document.querySelectorAll("th")) if (!head.textContent.trim()) head.setAttribute("role", "cell");
  // Boxes that scroll sideways can be focused and scrolled with the keyboard.
  for (const box of document.querySelectorAll(".highlight pre, .table-wrapper, .diagram, .sig"))
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
});
