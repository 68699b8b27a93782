"use strict";
// Pages say everything without this script. It shows times in the format of the reader's browser and, if
// nobody has chosen a time zone, in the browser's zone. It also keeps a page that is looked at as it is now.

const EVERY = 30_000;
const WHEN_LOST = 5_000;
const zone = document.getElementById("zone");
const timeZone = known(zone && "chosen" in zone.dataset ? zone.textContent : undefined);
const inZone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short", timeZone });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "short", timeZone });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone });

// A browser may lack a zone that the service has. Times are then in the browser's own zone.
function known(timeZone) {
  try {
    return timeZone && new Intl.DateTimeFormat(undefined, { timeZone }) && timeZone;
  } catch {
    return undefined;
  }
}

// The time as it was written stays where the pointer finds it. What is said as "2 min ago" stays.
function localize(within) {
  for (const time of within.querySelectorAll("time[datetime*=T]")) {
    const at = new Date(time.dateTime);
    if ("ago" in time.dataset) {
      time.title = inZone.format(at);
    } else {
      time.title = time.textContent;
      time.textContent = ("clock" in time.dataset ? clock : "day" in time.dataset ? day : inZone).format(at);
    }
  }
}

// What somebody does with the page is not taken from them.
function isInUse(main) {
  const isChanged = (field) =>
    field.type === "checkbox" || field.type === "radio"
      ? field.checked !== field.defaultChecked
      : field.tagName === "SELECT"
        ? [...field.options].some((option) => option.selected !== option.defaultSelected)
        : field.value !== field.defaultValue;
  return (
    main.contains(document.activeElement) ||
    !getSelection().isCollapsed ||
    main.querySelector("[data-zoomed], .plot:hover, .menu[open]") ||
    [...main.querySelectorAll("input, textarea, select")].some(isChanged)
  );
}

// Since when the page could not be asked for again.
let lost = null;

function showLost(isLost) {
  if (isLost === Boolean(lost)) return;
  lost = isLost ? { again: setInterval(refresh, WHEN_LOST) } : clearInterval(lost.again);
  document.getElementById("lost")?.remove();
  if (!isLost) return;
  const band = document.createElement("aside");
  band.id = "lost";
  band.className = "band issues";
  band.role = "alert";
  const words = document.createElement("p");
  words.className = "wrap";
  words.textContent = `Connection lost at ${clock.format(new Date())}. This page shows how things were then. Trying again every 5 seconds.`;
  band.append(words);
  document.querySelector("main").before(band);
}

async function refresh() {
  const main = document.querySelector("main[data-live]");
  if (!main || document.hidden || (isInUse(main) && !lost)) return;
  const response = await fetch(location.href).catch(() => null);
  showLost(!response?.ok);
  if (!response?.ok) return;
  // Whoever was signed out sees so.
  if (response.redirected) return location.reload();
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  const [next, band] = [page.querySelector("main"), page.getElementById("band")];
  if (!next || isInUse(main)) return;
  const parts = [...main.querySelectorAll("details")];
  next.querySelectorAll("details").forEach((part, place) => {
    part.open = parts[place]?.open ?? part.open;
  });
  for (const part of [next, band]) localize(part);
  document.getElementById("band").replaceWith(band);
  main.replaceWith(next);
  document.dispatchEvent(new Event("refreshed"));
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
for (const text of document.querySelectorAll("[data-copy]")) {
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

// The first account gets the zone of the browser.
const ownZone = inZone.resolvedOptions().timeZone;
const asked = document.querySelector("[data-zone] select");
if ([...(asked?.options ?? [])].some((option) => option.value === ownZone)) asked.value = ownZone;

localize(document);
if (zone && !timeZone) zone.textContent = inZone.resolvedOptions().timeZone.replaceAll("_", " ");
setInterval(refresh, EVERY);
document.addEventListener("visibilitychange", refresh);
addEventListener("offline", () => showLost(true));
addEventListener("online", refresh);
