"use strict";
// Before anything is drawn, so that no page flashes in other colours.
(() => {
  const KEY = "fathom-theme";
  const read = () => { try { return localStorage.getItem(KEY) || ""; } catch { return ""; } };
  const keep = (value) => { try { localStorage.setItem(KEY, value); } catch { /* It lasts for this page. */ } };
  const apply = (value) => {
    if (value === "light" || value === "dark") document.documentElement.dataset.theme = value;
    else delete document.documentElement.dataset.theme;
  };
  apply(read());
  // The page may be slow: who chooses before it is whole is heard, too.
  addEventListener("change", ({ target }) => {
    if (target.id !== "theme") return;
    apply(target.value);
    keep(target.value);
  });
  addEventListener("DOMContentLoaded", () => {
    document.getElementById("theme").value = document.documentElement.dataset.theme || "";
  });
})();
