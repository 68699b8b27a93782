// Checks pages at a fixed instant, which are files: whether all of them keep the rules of layout, and whether seven of
// them look as before.
//
//   stills.mjs FOLDER [--update] the folder that `vedette-bench stills` wrote; replaces the pictures that differ
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { axe, launch } from "./browser.mjs";

const [folder, update] = process.argv.slice(2);
/** The pages that are compared, at these sizes. */
const COMPARED = ["sites", "site", "issue", "settings", "channels", "sign-in", "status"];
const SIZES = [[390, 844], [1280, 900]];
/** A pixel differs if one of its colors differs by more than this, of 255. A picture differs if this many of its pixels
 * do. */
const COLOR = 32;
const DIFFERENT = 0.001;
/** From the narrowest phones to large screens; 640 is 1280 at a zoom of 200 %. */
const WIDTHS = [320, 390, 640, 1280, 2560];

const types = { html: "text/html; charset=utf-8", css: "text/css", js: "text/javascript", svg: "image/svg+xml" };
const server = createServer(({ url }, response) => {
  const file = `${folder}${url.startsWith("/assets/") ? url : `${url}.html`}`;
  // Pages are shown without JavaScript, which would use the current time and the machine's time zone.
  if (!existsSync(file) || file.endsWith(".js")) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[file.split(".").at(-1)] }).end(readFileSync(file));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const address = `http://127.0.0.1:${server.address().port}`;
const names = readdirSync(folder).filter((name) => name.endsWith(".html")).map((name) => name.slice(0, -5)).sort();

const chromium = await launch({ fonts: new URL("fonts.conf", import.meta.url).pathname });
const faults = [];

/** Returns the problems of the page's layout. Runs in the page. */
function wrong() {
  const wrong = [];
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) wrong.push(`the page is ${document.documentElement.scrollWidth} wide`);
  const called = (element) => `${element.localName}.${element.className.baseVal ?? element.className} “${element.textContent.trim().slice(0, 40)}”`;
  const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".hide, .skip, details:not([open]) > :not(summary)");
  const isClipped = (element) => {
    for (let box = element; box; box = box.parentElement) {
      if (getComputedStyle(box).overflowX !== "visible" || getComputedStyle(box).clipPath !== "none") return true;
    }
    return false;
  };
  /** How many lines the text of an element takes. */
  const lines = (element) => {
    const boxes = [];
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      if (text.parentElement.closest(".hide")) continue;
      const range = document.createRange();
      range.selectNodeContents(text);
      boxes.push(...[...range.getClientRects()].filter((box) => box.width > 2 && box.height > 2));
    }
    let [count, bottom] = [0, -Infinity];
    for (const box of boxes.sort((one, other) => one.top - other.top)) {
      if (box.top + box.height / 2 > bottom) { count += 1; bottom = box.bottom; }
    }
    return count;
  };
  for (const element of document.querySelectorAll("body *")) {
    if (!isSeen(element) || isClipped(element) || element.closest("svg")) continue;
    const { left, right } = element.getBoundingClientRect();
    if (right > width + 1 || left < -1) wrong.push(`out of the page: ${called(element)}`);
  }
  const controls = "button, a.btn, .pill, .tag, .tabs a, .side a, .seg a, .seg label, .counts a .pill, th[scope=col]";
  for (const control of document.querySelectorAll(controls)) {
    const isStacked = getComputedStyle(control).flexDirection === "column";
    if (isSeen(control) && lines(control) > (isStacked ? 2 : 1)) wrong.push(`wraps: ${called(control)}`);
  }
  for (const cell of document.querySelectorAll("td, th, dt, .tile .big, .quad b")) {
    const words = cell.innerText.trim();
    const isWord = /^[^ \n]{1,20}$/.test(words) && cell.children.length < 2;
    if (isSeen(cell) && isWord && lines(cell) > 1) wrong.push(`a word wraps: ${called(cell)}`);
  }
  for (const element of document.querySelectorAll("[style]")) if (!element.closest(".u-wrap")) wrong.push(`an inline style: ${called(element)}`);
  for (const nav of document.querySelectorAll("nav")) if (!nav.ariaLabel && !nav.hasAttribute("aria-labelledby")) wrong.push(`a nav without a name`);
  return wrong;
}

/** Moves the focus through the page, and checks that each focused element is visible. */
async function walk(page, name) {
  const stops = await page.$$eval("a[href], button, input:not([type=hidden]), select, textarea, summary", (found) =>
    found.filter((element) => element.checkVisibility() && !element.disabled).length);
  for (let stop = 0; stop < Math.min(stops, 25); stop += 1) {
    await page.keyboard.press("Tab");
    const seen = await page.evaluate(() => {
      const focused = document.activeElement;
      const outlined = (element) => element && getComputedStyle(element).outlineStyle !== "none" && parseFloat(getComputedStyle(element).outlineWidth) >= 1;
      const around = ["tr", "label"].some((around) => outlined(focused.closest(around)));
      // In a date field, the part that is being typed is marked.
      if (["date", "time"].includes(focused.type)) return null;
      return outlined(focused) || around ? null : `${focused.localName} “${focused.textContent.trim().slice(0, 40)}”`;
    });
    if (seen) faults.push(`${name}: the focus cannot be seen on ${seen}`);
    if (stop === 0) {
      const first = await page.evaluate(() => document.activeElement.className);
      if (first !== "skip") faults.push(`${name}: the first stop is not the way to the content`);
    }
  }
}

/** The share of the pixels in which two pictures differ. */
async function difference(page, one, other) {
  return page.evaluate(async (sources, color) => {
    const pixels = await Promise.all(sources.map(async (source) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${source}`)).blob());
      const canvas = new OffscreenCanvas(image.width, image.height);
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      return context.getImageData(0, 0, image.width, image.height);
    }));
    const [before, after] = pixels;
    if (before.width !== after.width || before.height !== after.height) return 1;
    let different = 0;
    for (let at = 0; at < before.data.length; at += 4) {
      const isSame = [0, 1, 2].every((part) => Math.abs(before.data[at + part] - after.data[at + part]) <= color);
      if (!isSame) different += 1;
    }
    return (4 * different) / before.data.length;
  }, [one.toString("base64"), other.toString("base64")], COLOR);
}

async function compare(page, blank, name) {
  for (const [width, height] of SIZES) {
    await page.setViewport({ width, height });
    await page.evaluate(() => scrollTo(0, 0));
    const picture = Buffer.from(await page.screenshot());
    const file = new URL(`stills/${name}-${width}.png`, import.meta.url);
    if (update && !existsSync(file)) writeFileSync(file, picture);
    const part = existsSync(file) ? await difference(blank, readFileSync(file), picture) : 1;
    if (part <= DIFFERENT) continue;
    if (update) {
      writeFileSync(file, picture);
      continue;
    }
    mkdirSync(`${folder}/different`, { recursive: true });
    writeFileSync(`${folder}/different/${name}-${width}.png`, picture);
    faults.push(`${name} at ${width}: ${(100 * part).toFixed(2)} % of the pixels differ from ${file.pathname}; see ${folder}/different`);
  }
}

try {
  const blank = await chromium.newPage();
  const page = await chromium.newPage();
  const cdp = await page.createCDPSession();
  const media = (features, type = "") => cdp.send("Emulation.setEmulatedMedia", {
    media: type,
    features: [{ name: "prefers-reduced-motion", value: "reduce" }, ...features],
  });
  if (update) mkdirSync(new URL("stills", import.meta.url), { recursive: true });
  for (const name of names) {
    await page.goto(`${address}/${name}`);
    await media([{ name: "prefers-color-scheme", value: "light" }]);
    if (COMPARED.includes(name)) await compare(page, blank, name);
    for (const width of WIDTHS) {
      await page.setViewport({ width, height: 900 });
      faults.push(...(await page.evaluate(wrong)).map((fault) => `${name} at ${width}: ${fault}`));
    }
    await page.setViewport({ width: 1280, height: 900 });
    await page.evaluate(axe);
    for (const scheme of ["light", "dark"]) {
      await media([{ name: "prefers-color-scheme", value: scheme }]);
      const found = await page.evaluate(() => globalThis.axe.run({ runOnly: ["color-contrast"], resultTypes: ["violations"] }));
      for (const { nodes } of found.violations) {
        faults.push(...nodes.map(({ html }) => `${name} in ${scheme}: the contrast of ${html} is too low`));
      }
    }
    await walk(page, name);
    await media([{ name: "forced-colors", value: "active" }]);
    const edgeless = await page.$$eval("button, input:not([type=hidden]), select, textarea, .btn", (controls) => controls
      .filter((control) => control.checkVisibility() && !control.closest(".pop, .seg, .kinds, [role=search]"))
      .filter((control) => getComputedStyle(control).borderStyle === "none")
      .map((control) => control.textContent || control.name));
    faults.push(...edgeless.map((control) => `${name} in forced colors: ${control} has no edge`));
    await media([], "print");
    await page.setViewport({ width: 720, height: 1000 });
    const printed = await page.evaluate(() => {
      const seen = (what) => [...document.querySelectorAll(what)].filter((element) => element.checkVisibility() && element.getBoundingClientRect().width > 0);
      return { controls: seen("button, form, nav.tabs, .skip").length, plots: seen(".plot svg").length, hasPlot: Boolean(document.querySelector(".plot")), width: document.documentElement.scrollWidth };
    });
    if (printed.controls > 0) faults.push(`${name} is printed with ${printed.controls} controls`);
    if (printed.hasPlot && printed.plots === 0) faults.push(`${name} is printed without its plot`);
    if (printed.width > 720) faults.push(`${name} is printed ${printed.width} wide`);
    await media([]);
  }
  assert.deepEqual(faults, []);
  console.log(`${names.length} pages hold to the rules, and ${COMPARED.length} look as they did`);
} finally {
  await chromium.close();
  server.close();
}
