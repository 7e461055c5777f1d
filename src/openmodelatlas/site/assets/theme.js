/* Light or dark as the reader chose, before anything is drawn; the button that chooses. */
(function () {
  "use strict";
  var root = document.documentElement, key = "openmodelatlas-theme", themes = ["auto", "light", "dark"];
  function stored() {
    try { return localStorage.getItem(key); } catch (error) { return null; }  // pages from disk may have no storage
  }
  function apply(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme; else delete root.dataset.theme;
  }
  var theme = themes.indexOf(stored()) > 0 ? stored() : "auto";
  apply(theme);
  document.addEventListener("DOMContentLoaded", function () {
    var top = document.querySelector("header.top");
    if (!top) return;
    var button = document.createElement("button");
    button.type = "button";
    button.className = "theme";
    function show() {
      button.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme];
      button.title = "Colours: " + { auto: "as the system has them", light: "light", dark: "dark" }[theme];
      button.setAttribute("aria-label", button.title + ". Change");
    }
    button.addEventListener("click", function () {
      theme = themes[(themes.indexOf(theme) + 1) % themes.length];
      try { localStorage.setItem(key, theme); } catch (error) { /* chosen for this page only */ }
      apply(theme);
      show();
    });
    show();
    var twins = top.querySelector(".twins");
    top.insertBefore(button, twins);
  });
})();
