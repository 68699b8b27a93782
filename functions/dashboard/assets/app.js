"use strict";
// Pages say everything without this script. It shows times in the reader's own zone, and keeps a page
// that is looked at as it is now.

const EVERY = 30_000;
const inOwnZone = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

// The time in UTC, as it was written, stays where the pointer finds it.
function localize(within) {
  for (const time of within.querySelectorAll("time[datetime*=T]")) {
    time.title = time.textContent;
    time.textContent = inOwnZone.format(new Date(time.dateTime));
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
    main.querySelector("[data-zoomed], .plot:hover") ||
    [...main.querySelectorAll("input, textarea, select")].some(isChanged)
  );
}

async function refresh() {
  const main = document.querySelector("main[data-live]");
  if (!main || document.hidden || isInUse(main)) return;
  const response = await fetch(location.href).catch(() => null);
  if (!response?.ok) return;
  // Whoever was signed out sees so.
  if (response.redirected) return location.reload();
  const text = await response.text();
  const next = new DOMParser().parseFromString(text, "text/html").querySelector("main");
  if (!next || isInUse(main)) return;
  localize(next);
  const parts = [...main.querySelectorAll("details")];
  next.querySelectorAll("details").forEach((part, place) => {
    part.open = parts[place]?.open ?? false;
  });
  main.replaceWith(next);
  document.dispatchEvent(new Event("refreshed"));
}

localize(document);
setInterval(refresh, EVERY);
document.addEventListener("visibilitychange", refresh);
