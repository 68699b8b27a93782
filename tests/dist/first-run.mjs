// The first minutes in a browser, from the link that the service prints to the first results of a site.
//
//   first-run.mjs LINK TARGET
import assert from "node:assert/strict";
import { launch, Window } from "../browser/browser.mjs";

const [link, target] = process.argv.slice(2);
const { origin, pathname } = new URL(link);
const chromium = await launch();
try {
  const window = await Window.open(chromium, { scripts: true, address: origin });
  await window.go(pathname);
  await window.fill("Your name", "Ada Lovelace");
  await window.fill("Email address", "ada@example.com");
  await window.press("Create account");
  assert.match(await window.text(), /Add your first site/);

  await window.page.type('main input[name="urls"]', target);
  await Promise.all([window.page.waitForNavigation(), window.page.keyboard.press("Enter")]);
  const site = window.path();
  assert.match(site, /^\/sites\/[^/]+\?first=1$/);
  assert.match(await window.text(), /Where should alerts go\?/);
  // The page loads itself again until all results are there.
  await window.page.waitForSelector("::-p-text(All first results are here.)", { timeout: 120_000 });
  assert.match(await window.text(), /HTTP 200 in /);
  assert.deepEqual(window.complaints, []);
} finally {
  await chromium.close();
}
