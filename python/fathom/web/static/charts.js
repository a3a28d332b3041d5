// Two small pictures that grow to the right while a run is under way.
const SVG = "http://www.w3.org/2000/svg";
const SHOWN = 300;
const FIRST_OCTAVE = 8;
const LAST_OCTAVE = 36;

export const short = (value) => {
  for (const [size, letter] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= size) return (value / size).toFixed(value >= 10 * size ? 0 : 1) + letter;
  }
  return value.toFixed(0);
};

// As many places as there are seconds, up to those of five minutes.
const places = (count) => Math.max(60, Math.min(count, SHOWN));

export const drawLine = (svg, seconds) => {
  const shown = seconds.slice(-SHOWN);
  const width = places(shown.length);
  const highest = Math.max(...shown.map((one) => one.ios));
  const most = Math.max(1, highest);
  const points = shown.map((one, place) =>
    `${(600 * (place + 1 + width - shown.length)) / width},${115 - (95 * one.ios) / most}`);
  const line = document.createElementNS(SVG, "polyline");
  line.setAttribute("points", points.join(" "));
  svg.replaceChildren(line);
  svg.setAttribute("aria-label", `IOPS of the last ${shown.length} seconds, at most ${short(highest)}`);
  return `IOPS of the last ${shown.length} s; the highest second has ${short(highest)}.`;
};

export const drawHeat = (canvas, seconds) => {
  const shown = seconds.slice(-SHOWN);
  const drawing = canvas.getContext("2d");
  const used = shown.flatMap((one) => Object.keys(one.latency_octaves || {}).map(Number));
  if (!used.length) {
    drawing.clearRect(0, 0, canvas.width, canvas.height);
    canvas.setAttribute("aria-label", "Heat map of latency, which is empty");
    return "";
  }
  const low = Math.max(FIRST_OCTAVE, Math.min(...used, LAST_OCTAVE));
  const high = Math.min(LAST_OCTAVE, Math.max(...used, low));
  const rows = high - low + 1;
  const width = places(shown.length);
  const [wide, tall] = [canvas.width / width, canvas.height / rows];
  drawing.clearRect(0, 0, canvas.width, canvas.height);
  drawing.fillStyle = getComputedStyle(canvas).getPropertyValue("--s1");
  shown.forEach((one, place) => {
    const x = (place + width - shown.length) * wide;
    for (const [octave, count] of Object.entries(one.latency_octaves || {})) {
      const row = high - Math.min(high, Math.max(low, Number(octave)));
      // Few slow I/Os have to be seen beside very many fast ones.
      drawing.globalAlpha = 0.15 + 0.85 * Math.sqrt(count / Math.max(1, one.ios));
      drawing.fillRect(x, row * tall, Math.ceil(wide), Math.ceil(tall));
    }
  });
  drawing.globalAlpha = 1;
  const words = (octave) => {
    const ns = 2 ** octave;
    return ns >= 1e6 ? `${(ns / 1e6).toFixed(1)} ms` : `${(ns / 1e3).toFixed(1)} µs`;
  };
  canvas.setAttribute("aria-label",
    `Heat map of latency, from ${words(low)} at the bottom to ${words(high + 1)} at the top`);
  return `from ${words(low)} (bottom) to ${words(high + 1)} (top)`;
};
