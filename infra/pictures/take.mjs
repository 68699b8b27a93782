// Takes pictures of the pages of a running service, with the light and the dark theme: those of the documentation, and
// in another folder each page at the width of phones, laptops and large screens.
//
//   take.mjs LINK DOCS ALL a link that signs in, and the folders for the pictures
import { mkdirSync } from "node:fs";
import { launch } from "../../tests/browser/browser.mjs";

const [link, docs, all] = process.argv.slice(2);
const WIDTHS = { 390: 844, 1280: 900, 2560: 1440 };
const chromium = await launch();
const page = await chromium.newPage();
mkdirSync(all, { recursive: true });

/** Takes pictures of a page: for the documentation if it has a height, and the whole page at each width. */
async function take(name, path, height) {
  await page.goto(new URL(path, link).href);
  for (const scheme of ["light", "dark"]) {
    const still = { name: "prefers-reduced-motion", value: "reduce" };
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, still]);
    if (height) {
      await page.setViewport({ width: 1280, height });
      await page.screenshot({ path: `${docs}/${name}-${scheme}.png` });
    }
    for (const [width, height] of Object.entries(WIDTHS)) {
      await page.setViewport({ width: Number(width), height });
      await page.screenshot({ path: `${all}/${name}-${width}-${scheme}.png`, fullPage: true });
    }
  }
}

await page.goto(link);
await Promise.all([page.waitForNavigation(), page.click("main button")]);
const addresses = (what) => page.$$eval(what, (links) => links.map((link) => [link.innerText, link.getAttribute("href")]));
const site = new Map(await addresses("tbody a.name")).get("Shop");
const [[, issue]] = await addresses(".alerts a");
const [[, team]] = await addresses(".tabs a");
await take("sites", team, 1_060);
await take("site", `${site}?range=30d`, 1_400);
const others = { issue, issues: `${team}/issues`, channels: `${team}/channels`, settings: `${team}/settings` };
for (const [name, path] of Object.entries(others)) await take(name, path);
await chromium.close();
