"use strict";
(() => {
  // A table that is wider than its place ends at a whole column, and so shows no part of a number. Which
  // columns are beside it, stands below it.
  const fit = (box) => {
    const table = box.querySelector("table");
    const cells = table && table.rows.length ? [...table.rows[0].cells] : [];
    const room = box.parentElement.clientWidth;
    if (!cells.length || !room || getComputedStyle(cells[0]).display === "block") return { hidden: [] };
    const places = cells.map((cell) => cell.getBoundingClientRect());
    const starts = places.map((one) => Math.round(one.left - places[0].left));
    const ends = places.map((one) => Math.round(one.right - places[0].left));
    const frame = box.offsetWidth - box.clientWidth;
    const whole = ends.at(-1);
    if (whole + frame <= room) return { hidden: [] };
    // The last columns are seen together as soon as they have room.
    const near = starts.reduce((a, b) => (Math.abs(b - box.scrollLeft) < Math.abs(a - box.scrollLeft) ? b : a));
    const start = Math.min(near, starts.find((one) => whole - one + frame <= room) ?? starts.at(-1));
    const end = ends.filter((one) => one - start + frame <= room).at(-1) ?? ends[starts.indexOf(start)];
    const hidden = cells.filter((_, at) => starts[at] < start || ends[at] > end);
    return { width: end - start + frame, start, hidden: hidden.map((cell) => cell.textContent.trim()) };
  };

  const words = (hidden) => hidden.length === 1 ? `1 more column: ${hidden[0]}. Scroll the table sideways.`
    : `${hidden.length} more columns: ${hidden.join(", ")}. Scroll the table sideways.`;

  const show = (box) => {
    const { width, start, hidden } = fit(box);
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
      for (const { target } of entries) target.querySelectorAll(":scope > .scroll").forEach(show);
    });
    document.querySelectorAll(".scroll").forEach((box) => {
      let timer;
      box.addEventListener("scroll", () => {
        clearTimeout(timer);
        timer = setTimeout(() => show(box), 120);
      }, { passive: true });
      places.observe(box.parentElement);
    });
  };
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
