"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // "container" stands for the room that there is, less what axes and their titles take.
  const sized = (spec, width) => {
    if (Array.isArray(spec)) return spec.map((one) => sized(one, width));
    if (spec === null || typeof spec !== "object") return spec;
    const found = {};
    for (const [key, value] of Object.entries(spec)) {
      found[key] = key === "width" && value === "container" ? width : sized(value, width);
    }
    return found;
  };

  const viewOf = (name) => {
    const form = document.getElementById(name).querySelector("form");
    const views = data.figures[name];
    if (!form) return views[0];
    const chosen = new FormData(form);
    const fits = (view) => [...chosen].every(([key, value]) => view.choice[key] === value);
    return whole(views.find(fits), views[0]);
  };

  // Of all views but the first, only what differs from it was sent.
  const whole = (view, first) => {
    if (!view || view.spec) return view;
    const root = structuredClone({ spec: first.spec });
    for (const [inner, value] of view.changes) {
      const place = ["spec", ...inner];
      place.slice(0, -1).reduce((part, key) => part[key], root)[place.at(-1)] = value;
    }
    return { choice: view.choice, ...root };
  };

  // The page's policy lets nothing be evaluated, and no style be added: expressions are interpreted, and
  // what Vega would add stands in page.css.
  const OPTIONS = {
    actions: false, renderer: "svg", ast: true, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  const draw = async (plot) => {
    const name = plot.dataset.figure;
    const view = viewOf(name);
    const turn = (plot.turn = (plot.turn || 0) + 1);
    if (!view) {
      plot.replaceChildren(Object.assign(document.createElement("p"), {
        className: "problem", textContent: "There are no numbers for this choice.",
      }));
      return;
    }
    const reserved = view.spec.usermeta ? view.spec.usermeta.reserved : data.reserved;
    const { usermeta, ...content } = view.spec;
    const spec = sized({ $schema: data.$schema, config: data.config, ...content },
      Math.max(plot.clientWidth - reserved, 120));
    const room = document.createElement("div");
    try {
      const made = await vegaEmbed(room, spec, OPTIONS);
      if (turn !== plot.turn) { made.finalize(); return; }
      if (plot.made) plot.made.finalize();
      plot.made = made;
      plot.replaceChildren(room);
      plot.dataset.drawn = turn;
    } catch (problem) {
      plot.replaceChildren(Object.assign(document.createElement("p"), {
        className: "problem", textContent: "This picture cannot be drawn: " + problem.message,
      }));
    }
  };

  // What is far below is drawn when it is near, so that the page opens at once.
  const waiting = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && !entry.target.dataset.drawn) draw(entry.target);
    }
  }, { rootMargin: "1200px" });
  const plots = [...document.querySelectorAll(".plot")];
  plots.forEach((plot) => waiting.observe(plot));
  const drawAll = () => Promise.all(plots.filter((one) => !one.dataset.drawn).map(draw));
  addEventListener("beforeprint", drawAll);
  const whenIdle = window.requestIdleCallback || ((work) => setTimeout(work, 200));
  whenIdle(() => { drawAll().then(() => { document.body.dataset.ready = "yes"; }); });

  document.querySelectorAll(".controls").forEach((form) => {
    form.addEventListener("change", () => draw(form.closest(".figure").querySelector(".plot")));
    form.addEventListener("submit", (event) => event.preventDefault());
  });

  let width = document.documentElement.clientWidth;
  let timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (document.documentElement.clientWidth === width) return;
      width = document.documentElement.clientWidth;
      plots.filter((one) => one.dataset.drawn).forEach(draw);
    }, 150);
  });

  const theme = document.getElementById("theme");
  theme.addEventListener("change", () => {
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
  });
})();
