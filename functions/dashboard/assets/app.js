"use strict";
// Pages say everything without this script. It shows times in the format of the reader's browser and, if
// nobody has chosen a time zone, in the browser's zone. It also keeps a page as it is now.

// In seconds: the time between two refreshes of a page that nobody looks at, after a failure, and until a refresh fails.
const EVERY = 30;
const WHEN_LOST = 5;
const TIMEOUT = 20;
const zone = document.getElementById("zone");
const timeZone = known(zone && "chosen" in zone.dataset ? zone.textContent : undefined);
const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short", timeZone });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone });
const year = new Intl.DateTimeFormat("en-GB", { year: "numeric", timeZone });
const parts = { day: "numeric", month: "short", hour: "numeric", minute: "2-digit", second: "2-digit", timeZone };
const second = new Intl.DateTimeFormat(undefined, parts);
const secondOfYear = new Intl.DateTimeFormat(undefined, { ...parts, year: "numeric" });

// A browser may lack a zone that the service has. Times are then in the browser's own zone.
function known(timeZone) {
  try {
    return timeZone && new Intl.DateTimeFormat(undefined, { timeZone }) && timeZone;
  } catch {
    return undefined;
  }
}

// How far the service's clock is ahead of this machine's, in milliseconds.
let ahead = 0;

function setClock(main) {
  ahead = main?.dataset.now ? Date.parse(main.dataset.now) - Date.now() : 0;
}

// The time as it was written stays where the pointer finds it.
function localize(within) {
  for (const time of within.querySelectorAll("time[datetime*=T]")) {
    const at = new Date(time.dateTime);
    if ("ago" in time.dataset || "lasting" in time.dataset) {
      time.title = inZone.format(at);
      // A screen reader does not read each second.
      time.ariaLive = "off";
    } else {
      time.title = time.textContent;
      const isThisYear = year.format(at) === year.format(Date.now() + ahead);
      const exact = isThisYear ? second : secondOfYear;
      const { dataset } = time;
      time.textContent = ("clock" in dataset ? clock : "day" in dataset ? day : "second" in dataset ? exact : inZone).format(at);
    }
  }
  tick(within);
}

// `12 min`, `1 h 5 min`, like `duration` in shared/domain/src/time.rs.
function lasting(seconds) {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3_600) % 24, (seconds / 60) % 60].map(Math.floor);
  if (days) return hours ? `${days} d ${hours} h` : `${days} d`;
  if (hours) return minutes ? `${hours} h ${minutes} min` : `${hours} h`;
  return minutes ? `${minutes} min` : `${seconds} s`;
}

// `34 s ago`, `in 5 min`, like `ago` there.
function ago(seconds) {
  const past = Math.abs(seconds);
  const units = [[60, 1, "s"], [3_600, 60, "min"], [86_400, 3_600, "h"], [172_800, 86_400, "day"], [Infinity, 86_400, "days"]];
  const [, length, unit] = units.find(([below]) => past < below);
  const lasted = `${Math.floor(past / length)} ${unit}`;
  return seconds < 0 ? `in ${lasted}` : `${lasted} ago`;
}

const WEEK = 604_800;

function tick(within) {
  for (const time of within.querySelectorAll("time[data-ago], time[data-lasting]")) {
    const seconds = Math.floor((Date.now() + ahead - Date.parse(time.dateTime)) / 1000);
    // From one week on, it is a date.
    if ("ago" in time.dataset && Math.abs(seconds) >= WEEK) continue;
    const says = "ago" in time.dataset ? ago(seconds) : lasting(Math.max(seconds, 0));
    if (time.textContent !== says) time.textContent = says;
  }
}

// What names an element, in a newer version of the page too.
function nameOf(element) {
  if (element.matches("[type=checkbox], [type=radio]")) return `${element.name}=${element.value}`;
  return ["id", "href", "action", "name", "for", "aria-labelledby"].map((key) => element.getAttribute(key)).find(Boolean);
}

// What a part of a page is, so that it is found again in a newer version of the page. A row or a field is what is in it.
function identity(part) {
  if (part.nodeType !== Node.ELEMENT_NODE) return part.nodeName;
  const named = nameOf(part) ?? part.querySelector(":scope > header > h2, :scope > legend")?.textContent;
  const within = named || !part.matches("tr, li, label, .check, .fld") ? [] : part.querySelectorAll("[id], [href], [action], [name]");
  return [part.localName, named ?? [...within].map(nameOf).find(Boolean)].join(" ");
}

// Whether it has a text that somebody is typing. A change of the page does not remove it.
function isTyped(part) {
  if (part.nodeType !== Node.ELEMENT_NODE) return false;
  const fields = [part, ...part.querySelectorAll("input, textarea")].filter((field) => field.matches("textarea, input:not([type=checkbox], [type=radio], [type=hidden])"));
  return fields.some((field) => field.value !== field.defaultValue);
}

// The chart is drawn again. Its table stays open, and it stays as it is while somebody zooms into it.
function redraw(chart, next) {
  if ("zoomed" in chart.dataset || chart.matches(":active")) return;
  const [tables, newer] = [chart, next].map((of) => of.querySelectorAll("details"));
  newer.forEach((table, place) => {
    if (!tables[place]) return;
    become(tables[place], table.cloneNode(true));
    table.replaceWith(tables[place]);
  });
  chart.replaceWith(next);
}

// Changes a part of the page into its newer version. What is the same stays, with the focus, the selection and what
// somebody has typed.
function become(part, next) {
  if (part.isEqualNode(next)) return;
  if (part.nodeType !== Node.ELEMENT_NODE) {
    part.nodeValue = next.nodeValue;
    return;
  }
  if ("step" in part.dataset) {
    redraw(part, next);
    return;
  }
  // Whoever reads the page opens and closes parts of it.
  const isOwn = ({ name }) => name !== "open";
  for (const { name } of [...part.attributes].filter(isOwn)) if (!next.hasAttribute(name)) part.removeAttribute(name);
  for (const { name, value } of [...next.attributes].filter(isOwn)) part.setAttribute(name, value);
  const left = new Map();
  for (const child of part.childNodes) {
    const key = identity(child);
    if (!left.has(key)) left.set(key, []);
    left.get(key).push(child);
  }
  let place = part.firstChild;
  for (const child of [...next.childNodes]) {
    const same = left.get(identity(child))?.shift();
    if (same === place) place = place?.nextSibling ?? null;
    else part.insertBefore(same ?? child, place);
    if (same) become(same, child);
  }
  for (const gone of [...left.values()].flat()) if (!isTyped(gone)) gone.remove();
}

// Says why the page is not as it is now, or nothing.
function explain(says) {
  const shown = document.getElementById("lost");
  if (!says || shown) {
    if (says) shown.firstChild.textContent = says;
    else shown?.remove();
    return;
  }
  const band = document.createElement("aside");
  band.id = "lost";
  band.className = "band issues";
  band.role = "alert";
  const words = document.createElement("p");
  words.className = "wrap";
  words.textContent = says;
  band.append(words);
  document.querySelector("main").before(band);
}

// When the page could last be refreshed, if it cannot now.
let lostAt = null;

// Returns after how many seconds to try again.
function lose(wait = 0) {
  const again = Math.max(wait, WHEN_LOST);
  lostAt ??= new Date();
  explain(`Connection lost at ${clock.format(lostAt)}. This page shows how things were then. Trying again every ${again} seconds.`);
  document.title = `Connection lost · ${document.title.split(" · ").at(-1)}`;
  document.querySelector("link[rel=icon]").href = document.querySelector("main").dataset.lost;
  document.querySelector(".brand .mark").setAttribute("class", "mark unknown");
  return again;
}

// The time until the next refresh, in seconds. A page that is looked at says its own.
function interval() {
  return document.hidden ? EVERY : Number(document.querySelector("main").dataset.live);
}

// Until when no request may be sent.
let heldUntil = 0;

// Loads the page again, and returns after how many seconds to do so next.
async function load() {
  const response = await fetch(location.href, { signal: AbortSignal.timeout(1000 * TIMEOUT) });
  const wait = Number(response.headers.get("retry-after")) || 0;
  if (response.status === 429) {
    const seconds = wait || EVERY;
    heldUntil = Date.now() + 1000 * seconds;
    explain(`Paused after too many requests. This page is refreshed in ${seconds} seconds.`);
    return seconds;
  }
  if (response.status >= 500) return lose(wait);
  // Whoever was signed out sees so. Others see that the page is gone.
  if (response.redirected || !response.ok) {
    location.reload();
    return EVERY;
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const main = page.querySelector("main[data-live]");
  if (!main) return EVERY;
  [lostAt, heldUntil] = [null, 0];
  explain(null);
  setClock(main);
  document.title = page.title;
  const [icon, newer] = [document, page].map((of) => of.querySelector("link[rel=icon]"));
  if (icon.getAttribute("href") !== newer.getAttribute("href")) icon.replaceWith(newer);
  // The scripts of a new part run only if the document gets them itself, in their order.
  for (const { src } of page.querySelectorAll("script[src]")) {
    if ([...document.scripts].some((script) => script.src === src)) continue;
    document.head.append(Object.assign(document.createElement("script"), { src, async: false }));
  }
  const focused = document.activeElement;
  localize(page);
  for (const part of ["header.bar", "#band", "main"]) become(document.querySelector(part), page.querySelector(part));
  if (focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
  document.dispatchEvent(new Event("refreshed"));
  return interval();
}

let timer;
let isLoading = false;

async function refresh() {
  if (isLoading || !document.querySelector("main[data-live]")) return;
  isLoading = true;
  clearTimeout(timer);
  const seconds = await load().catch(() => lose());
  isLoading = false;
  timer = setTimeout(refresh, 1000 * seconds);
}

function refreshSoon() {
  if (!document.hidden && Date.now() >= heldUntil) refresh();
}

// Menus close when something else is wanted.
function closeMenus(except) {
  for (const menu of document.querySelectorAll(".menu[open]")) {
    if (!menu.contains(except)) menu.open = false;
  }
}

document.addEventListener("click", ({ target }) => closeMenus(target));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") closeMenus(null);
  const search = document.querySelector("[aria-keyshortcuts='/']");
  if (event.key === "/" && search && !event.target.closest("input, select, textarea")) {
    event.preventDefault();
    search.focus();
  }
});

// What somebody needs elsewhere, such as a token, gets a button that copies it. Without https, browsers have no other
// clipboard than the one of the selection.
function offerCopies() {
  for (const text of document.querySelectorAll("[data-copy]")) {
    if (text.nextElementSibling?.matches(".copy")) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "s copy";
    button.textContent = "Copy";
    button.addEventListener("click", () => {
      getSelection().selectAllChildren(text);
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C or ⌘C to copy";
      getSelection().removeAllRanges();
    });
    text.after(button);
  }
}

offerCopies();
document.addEventListener("refreshed", offerCopies);

// The first account gets the zone of the browser.
const ownZone = inZone.resolvedOptions().timeZone;
const asked = document.querySelector("[data-zone] select");
if ([...(asked?.options ?? [])].some((option) => option.value === ownZone)) asked.value = ownZone;

setClock(document.querySelector("main"));
localize(document);
if (zone && !timeZone) zone.textContent = inZone.resolvedOptions().timeZone.replaceAll("_", " ");
setInterval(() => document.hidden || tick(document), 1000);
if (document.querySelector("main[data-live]")) {
  timer = setTimeout(refresh, 1000 * interval());
  document.addEventListener("visibilitychange", refreshSoon);
  addEventListener("online", refreshSoon);
  addEventListener("offline", () => {
    clearTimeout(timer);
    timer = setTimeout(refresh, Math.max(1000 * lose(), heldUntil - Date.now()));
  });
}

// The checkbox in the head of the list selects the page.
document.addEventListener("change", ({ target }) => {
  if (target.id !== "select-page") return;
  for (const box of document.querySelectorAll(".c-sel [name=site]")) box.checked = target.checked;
});
