import { element, mayMeasure, send } from "./serve.js";

const form = document.getElementById("start");
const go = document.getElementById("go");
const explain = document.getElementById("explain");
const problem = document.getElementById("problem");
const explained = document.getElementById("explained");
const GIB = 1 << 30;
// Of each kind: what may stand behind it, and what there is to know. Loads by name are of two kinds.
const KINDS = {
  run: ["-b4K -r -o8 -t2 -L -d10 -W2 -c1G", ""],
  repeat: ["--precision 2 -b4K -r -o8 -L -d10 -c1G", "Runs until the mean is known to so many percent."],
  sweep: ["--block 4K..64K --depth 1..16 -r -L -c1G", "Ranges of --block, --threads, --depth, --writes, or --vary."],
  tune: ["--p99 2ms -b8K -r -L -c1G", "--p99 and --mean limit the latency; --threads and --depth say where to look."],
  assess: ["--quick", "In a folder a scratch file is made and removed again; --time 5m takes longer."],
  compare: ["--run -o8 -o32 -b8K -r -L -d5 -c1G", "A and B stand behind --run, in quotes if of several words; the rest is of both."],
};
const WITH_WORKLOAD = ["run", "repeat"];
let explanation = "";

// As a shell splits words, so that a line from a terminal can be pasted.
const split = (text) => {
  const words = [];
  const pattern = /\s*((?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+)/gy;
  // A backslash at the end of a line goes on with the next one.
  const line = text.replace(/\\\r?\n/g, "");
  let read = 0;
  for (const [all, word] of line.matchAll(pattern)) {
    read += all.length;
    words.push(word.replace(/\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'/g,
      (_all, escaped, double, single) => escaped ?? single ?? double.replace(/\\(.)/g, "$1")));
  }
  const rest = line.slice(read).trim();
  if (rest) throw new Error(`A quote is not closed, or a backslash stands at the end: ${rest}`);
  return words;
};

const asked = () => {
  const given = new FormData(form);
  const verb = given.get("verb");
  const own = split(given.get("arguments"));
  const label = given.get("label").trim();
  const words = [];
  if (label) words.push(`--label=${label}`);
  if (given.get("workload") && WITH_WORKLOAD.includes(verb)) words.push(given.get("workload"));
  words.push(...own);
  if (given.get("target").trim()) words.push("--", given.get("target").trim());
  // What is explained names the token behind its option, and may be copied so.
  const allow = given.get("allow").trim().replace(/^--allow-write=/, "");
  return {
    verb,
    arguments: words,
    overwrite: given.get("overwrite") === "on",
    allow_write: allow ? [allow] : [],
  };
};

const tell = (words) => {
  problem.hidden = !words;
  problem.textContent = words;
};

const forget = () => {
  explanation = "";
  go.disabled = true;
};
form.addEventListener("input", forget);

const showKind = () => {
  const verb = form.elements.verb.value;
  const [example, words] = KINDS[verb];
  form.elements.arguments.placeholder = example;
  const place = document.getElementById("kind-words");
  place.textContent = words;
  place.hidden = !words;
  form.elements.workload.disabled = !WITH_WORKLOAD.includes(verb);
};
form.elements.verb.addEventListener("change", showKind);
showKind();

explain.addEventListener("click", async () => {
  forget();
  tell("");
  explain.disabled = true;
  try {
    const found = await send("POST", "/api/v1/explanations", asked());
    explained.hidden = false;
    document.getElementById("command").textContent = found.command;
    document.getElementById("words").textContent = found.text;
    explanation = found.would_run ? found.id : "";
    go.disabled = !explanation;
    if (!found.would_run) tell("It would be refused; what stands above says why, and what to do.");
  } catch (error) {
    explained.hidden = true;
    tell(error.message);
  } finally {
    explain.disabled = !mayMeasure();
  }
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!explanation) return;
  go.disabled = true;
  try {
    await send("POST", "/api/v1/processes", { explanation });
    location.assign("/");
  } catch (error) {
    tell(error.message);
    // What could not be started now, as another run is under way, is kept by the server as well.
    go.disabled = !explanation;
  }
});

const size = (bytes) => (bytes === null ? "-" : `${(bytes / GIB).toFixed(1)} GiB`);

const showTargets = (found) => {
  const rows = found.map((one) => {
    const row = element("tr");
    const choose = element("button", "Choose", { type: "button" });
    choose.setAttribute("aria-label", `Choose ${one.path}`);
    choose.addEventListener("click", () => {
      form.elements.target.value = one.kind === "folder" && form.elements.verb.value !== "assess"
        ? `${one.path.replace(/\/$/, "")}/fathom.dat` : one.path;
      forget();
    });
    const first = element("td");
    first.append(choose);
    row.append(first, ...[one.path, size(one.size_bytes), size(one.free_bytes), one.model || "-", one.use].map((text) => element("td", text)));
    return row;
  });
  document.getElementById("targets").replaceChildren(...rows);
};

const load = async () => {
  const workloads = await send("GET", "/api/v1/workloads");
  const choice = form.elements.workload;
  const words = new Map(workloads.map((one) => [one.name, `${one.title}. ${one.description}`]));
  choice.append(...workloads.map((one) => element("option", `${one.name}: ${one.title}`, { value: one.name })));
  choice.addEventListener("change", () => {
    const place = document.getElementById("workload-words");
    place.textContent = words.get(choice.value) ?? "";
    place.hidden = !choice.value;
  });
  document.body.dataset.ready = "yes";
  showTargets(await send("GET", "/api/v1/targets"));
};
load().catch((error) => tell(error.message));
