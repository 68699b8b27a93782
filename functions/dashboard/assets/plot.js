"use strict";
// Draws a site's response times so that a part of them can be looked at more closely. The picture and the
// table, which say the same, are there without this script: the table has the values of the lines, and the
// picture has the single checks and the failed ones.

const HINT = "Drag across the chart to zoom in.";
const MIDNIGHT = new Intl.DateTimeFormat("en-GB", { timeStyle: "short", timeZone });
const dated = (seconds) => new Date(seconds * 1000);

function inShort(seconds) {
  const date = dated(seconds);
  return (MIDNIGHT.format(date) === "00:00" ? day : clock).format(date);
}

// The distances between two labels of the time axis that may be used, in seconds.
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 20160, 40320, 80640];

const number = (text) => (text ? parseInt(text) : null);

// Times and values of the table, the oldest first: each row in the middle of that part of its time that is on the axis.
// What has no row is a gap. The axis is as long as that of the picture: a time without a value is at each end of it.
function read(part) {
  const [step, from, to] = ["step", "from", "to"].map((name) => Number(part.dataset[name]));
  const rows = [...part.querySelectorAll("tbody tr")].reverse();
  const values = Array.from({ length: rows[0].cells.length - 1 }, () => [null]);
  const [starts, times] = [[from], [from]];
  function push(start, at, value) {
    starts.push(start);
    times.push(at);
    values.forEach((line, place) => line.push(value(place)));
  }
  for (const row of rows) {
    const start = Date.parse(row.querySelector("time").dateTime) / 1000;
    if (start > starts.at(-1) + step * part.dataset.reach) push(start, (times.at(-1) + start) / 2, () => null);
    push(start, (Math.max(start, from) + Math.min(start + step, to)) / 2, (place) => number(row.cells[place + 1].textContent));
  }
  push(to, to, () => null);
  return [starts, times, ...values];
}

// The points of a path in the picture, as times and milliseconds.
function points(picture, path, { from, to }) {
  const { width, height } = picture.querySelector("svg svg").viewBox.baseVal;
  const { top } = picture.querySelector(".plot").dataset;
  const drawn = picture.querySelector(path)?.getAttribute("d") ?? "";
  return [...drawn.matchAll(/M([\d.]+) ([\d.]+)/g)].map(([, x, y]) => [
    Number(from) + (x / width) * (to - from),
    (1 - y / height) * top,
  ]);
}

let drawn;

function draw() {
  // Where somebody has zoomed in, it stays.
  if (drawn?.root.isConnected) return;
  const { left, top } = drawn?.cursor ?? {};
  drawn?.destroy();
  drawn = null;
  const part = document.querySelector("[data-step]");
  // Where it could not begin, the picture stays.
  if (!part?.querySelector("tbody tr") || !globalThis.uPlot) return;
  const picture = part.querySelector(".drawn");
  const plot = document.createElement("div");
  plot.className = "plot live";
  plot.role = "img";
  plot.ariaLabel = picture.querySelector(".plot").ariaLabel;
  const below = document.createElement("p");
  below.className = "plot-hint";
  const hint = document.createElement("span");
  hint.textContent = HINT;
  const whole = document.createElement("button");
  whole.textContent = "Show all";
  whole.className = "s";
  whole.type = "button";
  whole.onclick = () => {
    drawn.setData(drawn.data);
    refresh();
  };
  const paused = document.createElement("span");
  paused.textContent = "Paused.";
  below.append(paused, hint, whole);
  picture.before(plot);
  picture.after(below);

  const [starts, times, means, upper, ...phases] = read(part);
  const names = [...part.querySelectorAll("thead th")].slice(3).map((head) => head.textContent);
  // The time that passed until the end of each phase; the last phase ends with the whole.
  let passed = times.map(() => 0);
  const stack = phases.slice(0, -1).map((phase) => (passed = phase.map((ms, place) => (ms == null ? null : passed[place] + ms))));
  // The picture that is not shown has the colors.
  const color = (of) => getComputedStyle(picture.querySelector(of));
  const faint = { stroke: () => color(".grid").stroke, width: 1 };
  const axis = { stroke: () => getComputedStyle(below).color, grid: faint, ticks: { show: false }, font: "12px Inter, system-ui, sans-serif" };
  const [checks, failed] = [".dots", ".failed"].map((path) => points(picture, path, part.dataset));
  const bands = JSON.parse(part.dataset.bands);
  const instant = (place) => Number(part.dataset.from) + place * (part.dataset.to - part.dataset.from);
  const isNarrow = plot.clientWidth < 500;
  const lines = Math.max(0, ...bands.map(([, , , , label]) => label?.[0] ?? 0));
  const pale = (color, percent) => `color-mix(in srgb, ${color} ${percent}%, transparent)`;
  function drawBands({ ctx, bbox, valToPos }) {
    const ratio = devicePixelRatio;
    const end = bbox.left + bbox.width;
    ctx.save();
    ctx.font = `600 ${12 * ratio}px Inter, system-ui, sans-serif`;
    for (const [isDown, from, to, lasted, label] of bands) {
      const [left, right] = [from, to].map((place) => Math.min(Math.max(valToPos(instant(place), "x", true), bbox.left), end));
      if (right <= left) continue;
      ctx.fillStyle = pale(getComputedStyle(part.querySelector(isDown ? ".legend .down i" : ".legend .info i")).backgroundColor, 14);
      ctx.fillRect(left, bbox.top, Math.max(right - left, 2), bbox.height);
      const [line, isMain] = label ?? [];
      if (!label || (isNarrow && !isMain)) continue;
      const words = isNarrow ? lasted : `${isDown ? "Down" : "Maintenance"} ${lasted}`;
      const half = ctx.measureText(words).width / 2;
      const middle = Math.min(Math.max((left + right) / 2, bbox.left + half), end - half);
      ctx.fillStyle = color(isDown ? ".mark" : ".mm").fill;
      ctx.textAlign = "center";
      ctx.fillText(words, middle, bbox.top - (6 + 16 * line) * ratio);
    }
    ctx.restore();
  }
  function drawChecks({ ctx, bbox, valToPos }) {
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    if (checks.length) {
      ctx.fillStyle = color(".dots").stroke;
      ctx.globalAlpha = 0.4;
      for (const [at, ms] of checks) {
        ctx.beginPath();
        ctx.arc(valToPos(at, "x", true), Math.max(valToPos(ms, "y", true), bbox.top), 1.25 * ratio, 0, 2 * Math.PI);
        ctx.fill();
      }
    }
    if (failed.length) {
      ctx.fillStyle = color(".failed").stroke;
      ctx.globalAlpha = 1;
      for (const [at] of failed) {
        ctx.fillRect(valToPos(at, "x", true) - ratio, bbox.top + bbox.height - 14 * ratio, 2 * ratio, 14 * ratio);
      }
    }
    ctx.restore();
  }
  let all;
  function showScale({ scales }, key) {
    if (key !== "x") return;
    const { min, max } = scales.x;
    all ??= [min, max];
    const isPart = min > all[0] || max < all[1];
    part.toggleAttribute("data-zoomed", isPart);
    whole.hidden = !isPart;
    paused.hidden = !isPart;
  }
  function showValue({ cursor }) {
    const mean = means[cursor.idx];
    const parts = phases.map((phase, place) => `${names[place]} ${phase[cursor.idx]}`);
    const of = phases[0]?.[cursor.idx] == null ? "" : ` (${parts.join(", ")})`;
    hint.textContent = mean == null ? HINT : `${inZone.format(dated(starts[cursor.idx]))}: ${mean} ms${of}${upper ? `, 95th percentile ${upper[cursor.idx]} ms` : ""}`;
  }
  const partColor = (place) => color(`.ph.p${place + 1}`).fill;
  // From the top: the last phase is between the whole and the lines below.
  const areas = stack.length ? [1, 5, 4, 3] : [];
  const options = {
    width: plot.clientWidth,
    height: 240,
    padding: [16 * (lines + 1), null, null, null],
    legend: { show: false },
    scales: { x: { range: (_, min, max) => [min, max] }, y: { range: (_, __, top) => [0, top * 1.05] } },
    // A lone value has no line, but a point.
    series: [{}, { stroke: () => color(".line").stroke, fill: () => pale(color(".line").stroke, 10), width: 1.5, points: { show: means.length < 40, size: 4 } }, ...(upper ? [{ stroke: () => getComputedStyle(below).color, dash: [3, 3], width: 1.25, points: { show: false } }] : []), ...stack.map((_, place) => ({ stroke: () => partColor(place), fill: () => pale(partColor(place), 26), width: 1, points: { show: false } }))],
    bands: areas.slice(0, -1).map((series, place) => ({ series: [series, areas[place + 1]], fill: () => pale(partColor(3 - place), place ? 26 : 16) })),
    axes: [
      { ...axis, grid: { show: false }, incrs: MINUTES.map((minutes) => 60 * minutes), space: 70, size: 30, values: (_, ticks) => ticks.map(inShort) },
      { ...axis, size: 70, values: (_, ticks) => ticks.map((ms) => `${ms} ms`) },
    ],
    hooks: { drawClear: [drawBands], draw: [drawChecks], setScale: [showScale], setCursor: [showValue] },
  };
  drawn = new uPlot(options, [times, means, ...(upper ? [upper] : []), ...stack], plot);
  // The pointer is where it was.
  if (left >= 0) drawn.setCursor({ left, top });
}

addEventListener("resize", () => drawn?.setSize({ width: drawn.root.parentElement.clientWidth, height: 240 }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn?.redraw());
document.addEventListener("refreshed", draw);
draw();
