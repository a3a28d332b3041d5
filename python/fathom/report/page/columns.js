"use strict";
// A table that is wider than its place ends at a whole column, and so shows no part of a number. Which
// columns are beside it, stands below it.
(() => {
  // A column that is wider than its place is read in parts, each of which has some words of the last one.
  const parts = (start, end, view) => {
    const found = [start];
    while (found.at(-1) + view < end) found.push(Math.min(found.at(-1) + Math.ceil(view * 0.8), end - view));
    return found;
  };

  // Whoever scrolls by less than a column, as with a key, moves on by one all the same.
  const chosen = (stops, left, before) => {
    const near = stops.reduce((a, b) => (Math.abs(b - left) < Math.abs(a - left) ? b : a));
    if (near !== before || Math.abs(left - before) <= 1) return near;
    return stops[stops.indexOf(before) + Math.sign(left - before)] ?? near;
  };

  const fit = (box, before) => {
    const table = box.querySelector("table");
    const cells = table && table.rows.length ? [...table.rows[0].cells] : [];
    const frame = box.offsetWidth - box.clientWidth;
    const view = box.parentElement.clientWidth - frame;
    if (!cells.length || view < 1 || getComputedStyle(cells[0]).display === "block") return { hidden: [] };
    const places = cells.map((cell) => cell.getBoundingClientRect());
    const starts = places.map((one) => Math.round(one.left - places[0].left));
    const ends = places.map((one) => Math.round(one.right - places[0].left));
    const whole = ends.at(-1);
    if (whole <= view) return { hidden: [] };
    // The last columns are seen together as soon as they have room.
    const stops = starts.flatMap((one, at) => parts(one, ends[at], view));
    const last = stops.find((one) => whole - one <= view);
    const start = Math.min(chosen(stops, box.scrollLeft, before), last);
    const end = ends.filter((one) => one > start && one - start <= view).at(-1) ?? start + view;
    const hidden = cells.filter((_, at) => ends[at] <= start || starts[at] >= end);
    return { width: end - start + frame, start, hidden: hidden.map((cell) => cell.textContent.trim()) };
  };

  const words = (hidden) => hidden.length === 1 ? `1 more column: ${hidden[0]}. Scroll the table sideways.`
    : `${hidden.length} more columns: ${hidden.join(", ")}. Scroll the table sideways.`;

  const shown = new WeakMap();
  const show = (box, isScrolled) => {
    const { width, start, hidden } = fit(box, isScrolled ? shown.get(box) : undefined);
    shown.set(box, start);
    box.style.maxWidth = width ? `${width}px` : "";
    if (width && box.scrollLeft !== start) box.scrollLeft = start;
    let note = box.nextElementSibling;
    if (!note || !note.classList.contains("beside")) {
      if (!hidden.length) return;
      note = Object.assign(document.createElement("p"), { className: "beside" });
      box.after(note);
    }
    note.hidden = !hidden.length;
    note.textContent = hidden.length ? words(hidden) : "";
  };

  const begin = () => {
    // The place changes with the window, and when what holds it is opened.
    const places = new ResizeObserver((entries) => {
      for (const { target } of entries) target.querySelectorAll(":scope > .scroll").forEach((box) => show(box));
    });
    document.querySelectorAll(".scroll").forEach((box) => {
      let timer;
      box.addEventListener("scroll", () => {
        clearTimeout(timer);
        timer = setTimeout(() => show(box, true), 120);
      }, { passive: true });
      places.observe(box.parentElement);
    });
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
