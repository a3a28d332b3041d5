import { element, mayMeasure, send, time } from "./serve.js";
import { drawHeat, drawLine } from "./charts.js";

const MIB = 1 << 20;
const KEPT = 900;
const history = new Map();
const known = new Map();
const cards = new Map();
const connection = document.getElementById("connection");
const running = document.getElementById("running");
// The browser's clock may be another one than that which the times of runs are of.
const ahead_s = Date.now() / 1000 - Number(connection.dataset.now);

const clock = (seconds) => {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
};

const ms = (ns) => (ns === null || ns === undefined ? "-" : (ns / 1e6).toFixed(3));

const PHASES = { warm_up: "warm-up", measured: "measuring", cool_down: "cool-down", ended: "between runs" };

const newCard = (id) => {
  const card = document.getElementById("card").content.firstElementChild.cloneNode(true);
  const stop = card.querySelector(".stop");
  stop.hidden = !mayMeasure();
  stop.addEventListener("click", async () => {
    stop.disabled = true;
    const told = card.querySelector(".told");
    try {
      await send("POST", `/api/v1/processes/${encodeURIComponent(id)}/stop`);
      told.textContent = "It ends; what was measured is saved.";
    } catch (problem) {
      stop.disabled = false;
      told.textContent = problem.message;
    }
  });
  running.append(card);
  cards.set(id, card);
  return card;
};

const showNumbers = (card, second) => {
  const figures = [
    ["IOPS", second.ios.toLocaleString("en")],
    ["MiB/s", (second.bytes / MIB).toFixed(1)],
    ["p50", second.ios ? `${ms(second.latency_ns_p50)} ms` : "-"],
    ["p99", second.ios ? `${ms(second.latency_ns_p99)} ms` : "-"],
    ["In flight", String(second.in_flight)],
  ];
  card.querySelector(".numbers").replaceChildren(...figures.map(([name, value]) => {
    const box = element("div");
    box.append(element("dt", name), element("dd", value));
    return box;
  }));
};

const showTargets = (card, second) => {
  const place = card.querySelector(".targets");
  place.hidden = !second.targets?.length;
  place.querySelector("tbody").replaceChildren(...(second.targets ?? []).map((one) => {
    const row = element("tr");
    const cells = [one.target, one.ios.toLocaleString("en"), (one.bytes / MIB).toFixed(1), ms(one.latency_ns_p50), ms(one.latency_ns_p99)];
    row.append(...cells.map((text) => element("td", text)));
    return row;
  }));
};

const showTime = (card, told) => {
  const bar = card.querySelector("progress");
  const left = card.querySelector(".left");
  if (told.progress) {
    bar.value = told.progress.done / Math.max(1, told.progress.expected);
    left.textContent = `${told.progress.done} of about ${Math.round(told.progress.expected)} runs; about ${clock(told.progress.remaining_s)} left`;
  } else if (told.filling) {
    bar.value = told.filling.done_bytes / Math.max(1, told.filling.total_bytes);
    left.textContent = `filling ${told.filling.target}`;
  } else if (told.planned_s && told.phase !== "ended") {
    const passed = Date.now() / 1000 - ahead_s - told.run_began_at_unix_s;
    bar.value = Math.min(1, passed / told.planned_s);
    left.textContent = told.phase === "warm_up" ? "" : `about ${clock(told.planned_s - passed)} left of this run`;
  }
};

const show = (id) => {
  const told = known.get(id);
  if (!told || told.state !== "running") return;
  const card = cards.get(id) ?? newCard(id);
  card.querySelector("h2").textContent = told.command;
  const about = [PHASES[told.phase] ?? "getting ready", told.step, `since ${time(told.started_at_unix_s)}`, `by ${told.user}`];
  card.querySelector(".about").textContent = about.filter(Boolean).join(" · ");
  showTime(card, told);
  const seconds = history.get(id) ?? [];
  if (!seconds.length) return;
  showNumbers(card, seconds.at(-1));
  showTargets(card, seconds.at(-1));
  card.querySelector(".line-words").textContent = drawLine(card.querySelector(".line"), seconds);
  const range = drawHeat(card.querySelector(".heat"), seconds);
  card.querySelector(".heat-words").textContent = range
    ? `Latency of the I/Os of each second, ${range}: the stronger the colour, the more of them.`
    : "No I/O has completed in these seconds.";
};

const showEnded = () => {
  const ended = [...known.values()].filter((one) => one.state !== "running");
  const rows = ended.map((one) => {
    const row = element("tr");
    const links = element("td");
    if (one.experiment_id) links.append(element("a", `e${one.experiment_id}`, { href: `/experiments/${one.experiment_id}` }), " ");
    for (const run of one.experiment_id ? [] : one.run_ids) links.append(element("a", String(run), { href: `/runs/${run}` }), " ");
    const state = element("td", one.state);
    if (one.errors) state.append(element("details", ""));
    state.querySelector("details")?.append(element("summary", "why"), element("pre", one.errors));
    row.append(state, element("td", one.command), element("td", time(one.started_at_unix_s)), element("td", one.user), links);
    return row;
  });
  if (!rows.length) {
    const row = element("tr");
    row.append(element("td", "Nothing yet.", { colSpan: 5 }));
    rows.push(row);
  }
  document.getElementById("ended").replaceChildren(...rows);
};

const showAll = () => {
  for (const [id, card] of cards) {
    if (known.get(id)?.state !== "running") {
      card.remove();
      cards.delete(id);
      history.delete(id);
    }
  }
  const count = [...known.values()].filter((one) => one.state === "running").length;
  if (!count) running.replaceChildren(Object.assign(element("p"), { className: "idle" }));
  else running.querySelector(".idle")?.remove();
  const idle = running.querySelector(".idle");
  if (idle) idle.append("Nothing is running. ", element("a", "Start something", { href: "/start" }));
  known.forEach((_one, id) => show(id));
  showEnded();
};

const live = new EventSource("/api/v1/live");
const content = (event) => JSON.parse(event.data);
live.addEventListener("open", () => { connection.textContent = "Live."; });
live.addEventListener("error", () => {
  connection.textContent = live.readyState === EventSource.CLOSED
    ? "The server does not answer this page any more: load it again."
    : "The connection was lost; what runs goes on. Trying again …";
});
live.addEventListener("processes", (event) => {
  known.clear();
  for (const one of content(event)) known.set(one.id, one);
  showAll();
});
live.addEventListener("history", (event) => {
  const { id, seconds } = content(event);
  history.set(id, seconds);
  show(id);
});
live.addEventListener("second", (event) => {
  const second = content(event);
  const seconds = history.get(second.id) ?? [];
  seconds.push(second);
  history.set(second.id, seconds.slice(-KEPT));
  show(second.id);
});
