// What several pages share: times, tables that can be sorted, and requests that change something.
const meta = (name) => document.querySelector(`meta[name=fathom-${name}]`)?.content ?? "";

export const mayMeasure = () => meta("role") === "measure";

export const send = async (method, path, body) => {
  const answer = await fetch(path, {
    method,
    headers: { "content-type": "application/json", "x-csrf-token": meta("csrf") },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const content = await answer.json().catch(() => ({ detail: answer.statusText }));
  if (!answer.ok) throw new Error(content.detail);
  return content;
};

export const time = (seconds) => {
  const at = new Date(seconds * 1000);
  return Number.isNaN(at.getTime()) ? "-" : at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
};

export const element = (name, text = "", more = {}) =>
  Object.assign(document.createElement(name), { textContent: text }, more);

for (const cell of document.querySelectorAll("[data-time]")) {
  cell.textContent = cell.dataset.time ? time(Number(cell.dataset.time)) : "-";
  cell.dataset.value = cell.dataset.time;
}

const valueOf = (row, place) => {
  const cell = row.cells[place];
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
};

const sort = (table, head) => {
  const place = head.cellIndex;
  const sign = head.ariaSort === "descending" ? 1 : -1;
  for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
  head.ariaSort = sign === 1 ? "ascending" : "descending";
  const order = (a, b) => {
    const [one, other] = [valueOf(a, place), valueOf(b, place)];
    return sign * (typeof one === "number" ? one - other : String(one).localeCompare(String(other)));
  };
  table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
};

for (const table of document.querySelectorAll("table.sortable")) {
  if (table.tBodies[0].rows[0]?.cells.length < 2) continue;
  for (const head of table.tHead.rows[0].cells) {
    if (head.querySelector(".hidden")) continue;
    const button = element("button", head.textContent, { type: "button" });
    button.addEventListener("click", () => sort(table, head));
    head.replaceChildren(button);
  }
}

const compare = document.getElementById("compare-picked");
if (compare) {
  const picked = () => [...document.querySelectorAll("[name=pick]:checked")].map((one) => one.value);
  document.addEventListener("change", () => { compare.disabled = picked().length !== 2; });
  compare.addEventListener("click", () => {
    const [a, b] = picked().sort((one, other) => one - other);
    location.assign(`/compare?${new URLSearchParams({ a, b })}`);
  });
}
