"use strict";
// Draws a site's response times so that a part of them can be looked at more closely. The picture and the
// table, which say the same, are there without this script.

const HINT = "Drag over the plot to look closer.";
const HOUR = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dated = (seconds) => new Date(seconds * 1000);

function inShort(seconds) {
  const date = dated(seconds);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
  return (isMidnight ? DATE : HOUR).format(date);
}

// Times and means of the table, the oldest first. What has no row is a gap.
function read(part) {
  const [times, means] = [[], []];
  for (const row of [...part.querySelectorAll("tbody tr")].reverse()) {
    const at = Date.parse(row.querySelector("time").dateTime) / 1000;
    const next = times.at(-1) + Number(part.dataset.step);
    if (at > next) {
      times.push(next);
      means.push(null);
    }
    times.push(at);
    means.push(parseInt(row.cells[1].textContent));
  }
  return [times, means];
}

let drawn;

function draw() {
  drawn?.destroy();
  drawn = null;
  const part = document.querySelector("[data-step]");
  // Where it could not begin, the picture stays.
  if (!part || !globalThis.uPlot) return;
  const picture = part.querySelector("svg");
  const line = part.querySelector(".line");
  const plot = document.createElement("div");
  plot.className = "plot";
  plot.role = "img";
  plot.ariaLabel = picture.ariaLabel;
  const below = document.createElement("p");
  below.className = "plot-hint quiet";
  const hint = document.createElement("span");
  hint.textContent = HINT;
  const whole = document.createElement("button");
  whole.textContent = "Show all";
  whole.onclick = () => drawn.setData(drawn.data);
  below.append(hint, " ", whole);
  picture.before(plot, below);

  const [times, means] = read(part);
  const faint = { stroke: "#8884", width: 1 };
  const axis = { stroke: () => getComputedStyle(below).color, grid: faint, ticks: faint };
  let all;
  function showScale({ scales }, key) {
    if (key !== "x") return;
    const { min, max } = scales.x;
    all ??= [min, max];
    const isPart = min > all[0] || max < all[1];
    part.toggleAttribute("data-zoomed", isPart);
    whole.hidden = !isPart;
  }
  function showValue({ cursor }) {
    const mean = means[cursor.idx];
    hint.textContent = mean == null ? HINT : `${inOwnZone.format(dated(times[cursor.idx]))}: ${mean} ms`;
  }
  const options = {
    width: plot.clientWidth,
    height: 220,
    legend: { show: false },
    scales: { y: { range: (_, __, top) => [0, top * 1.05] } },
    // A lone value has no line, but a point.
    series: [{}, { stroke: () => getComputedStyle(line).stroke, width: 2, points: { show: true, size: 4 } }],
    axes: [
      { ...axis, space: 70, values: (_, ticks) => ticks.map(inShort) },
      { ...axis, size: 70, values: (_, ticks) => ticks.map((ms) => `${ms} ms`) },
    ],
    hooks: { setScale: [showScale], setCursor: [showValue] },
  };
  drawn = new uPlot(options, [times, means], plot);
}

addEventListener("resize", () => drawn?.setSize({ width: drawn.root.parentElement.clientWidth, height: 220 }));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn?.redraw());
document.addEventListener("refreshed", draw);
draw();
