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
  addEventListener("DOMContentLoaded", () => {
    const theme = document.getElementById("theme");
    theme.value = read();
    theme.addEventListener("change", () => { apply(theme.value); keep(theme.value); });
  });
})();
