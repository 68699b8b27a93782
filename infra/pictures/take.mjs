// Takes pictures of the pages of a running service, in light and in dark.
//
//   take.mjs LINK FOLDER    a link that signs in, and where the pictures go
import { launch } from "../../tests/browser/browser.mjs";

const [link, folder] = process.argv.slice(2);
const chromium = await launch();
const page = await chromium.newPage();

/** The page that is shown, as far as it is told. */
async function take(name, height) {
  await page.setViewport({ width: 1120, height });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    await page.screenshot({ path: `${folder}/${name}-${scheme}.png` });
  }
}

await page.goto(link);
await Promise.all([page.waitForNavigation(), page.click("main button")]);
await take("sites", 940);
const [site] = await page.$$eval("tbody a[href^='/sites/']", (links) =>
  links.filter((link) => link.innerText === "Shop").map((link) => link.getAttribute("href")));
await page.goto(new URL(`${site}?range=30d`, link).href);
await take("site", 1_500);
await chromium.close();
