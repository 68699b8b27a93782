// Starts Chromium, and checks the rules for every page that it shows.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import assert from "node:assert/strict";

const installed = new URL("../../infra/lighthouse/", import.meta.url);
const { resolve } = createRequire(installed);
const load = (name) => import(pathToFileURL(resolve(name)));
const { default: puppeteer } = await load("puppeteer-core");
export const { source: axe } = (await load("axe-core")).default;
const { default: lighthouse } = await load("lighthouse");

const PERFECT = ["accessibility", "best-practices"];

/** Starts Chromium, with the fonts that a file names. */
export const launch = ({ fonts } = {}) =>
  puppeteer.launch({
    executablePath: new URL("chromium", installed).pathname,
    // As root and in containers, Chromium has no sandbox. It opens only Vedette's own pages.
    args: ["--no-sandbox", "--headless=new", "--disable-gpu"],
    // On a machine without a language setting, Chromium would use one that no user's browser has.
    env: { ...process.env, LC_ALL: "en_US.UTF-8", ...(fonts && { CHROMIUM_FONTS: fonts }) },
    pipe: true,
  });

/** A person's window, which records the errors in it. */
export class Window {
  static async open(chromium, { scripts, address }) {
    const context = await chromium.createBrowserContext();
    const page = await context.newPage();
    const window = new Window(page, scripts, address);
    await page.setJavaScriptEnabled(scripts);
    page.on("console", (message) => {
      // A refused form is not an error.
      const isFault = ["error", "warn"].includes(message.type()) && !/status of 422/.test(message.text());
      if (isFault) window.complaints.push(message.text());
    });
    page.on("pageerror", (error) => window.complaints.push(String(error)));
    return window;
  }

  constructor(page, scripts, address) {
    Object.assign(this, { page, scripts, address, complaints: [] });
  }

  /** The main part of the page, as text. */
  text() {
    return this.page.$eval("main", (main) => main.innerText);
  }

  /** The text of each row in the page's tables. */
  rows() {
    return this.page.$$eval("main tbody tr", (rows) => rows.map((row) => row.innerText));
  }

  path() {
    return this.page.url().slice(this.address.length);
  }

  async go(path) {
    await this.page.goto(this.address + path);
  }

  /** Follows the link or presses the button with this text. */
  async press(words) {
    const role = `::-p-xpath(//main//*[self::a or self::button][normalize-space()=${JSON.stringify(words)}])`;
    const found = await this.page.waitForSelector(role, { timeout: 5_000 });
    await Promise.all([this.page.waitForNavigation(), found.evaluate((element) => element.click())]);
  }

  /** The first field on the page with this label. */
  async field(label) {
    const path = `::-p-xpath(//label[normalize-space()=${JSON.stringify(label)}])`;
    return `[id="${await this.page.$eval(path, (element) => element.htmlFor)}"]`;
  }

  async fill(label, text) {
    await this.page.$eval(await this.field(label), (field, text) => { field.value = text; }, text);
  }

  async untick(label) {
    await this.page.$eval(await this.field(label), (field) => { field.checked = false; });
  }

  /** Reloads a page until it contains a text. */
  async until(path, what, says) {
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      await this.go(path);
      if (says(await this.text(), await this.rows())) return;
      await new Promise((done) => setTimeout(done, 500));
    }
    throw new Error(`${path} never says that ${what}: ${await this.text()}`);
  }

  /** Checks that everybody can use the page. */
  async inspect() {
    const { page } = this;
    const where = this.path();
    for (const width of [320, 1280]) {
      await page.setViewport({ width, height: 800 });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${where} is ${wide} wide on ${width}`);
    }
    // axe is a script, too. The pages are the same without JavaScript.
    for (const scheme of this.scripts ? ["light", "dark"] : []) {
      // Ignores colors that are in transition.
      const still = { name: "prefers-reduced-motion", value: "reduce" };
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }, still]);
      // The content security policy allows no other scripts, but it does not apply to developer tools.
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
      const said = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      assert.deepEqual(said, [], `${where} in ${scheme}`);
    }
    assert.deepEqual(this.complaints, [], where);
  }

  /** Lighthouse's points for a page in these categories. */
  async judge(path, onlyCategories) {
    const config = { extends: "lighthouse:default", settings: { onlyCategories, disableStorageReset: true } };
    const { lhr } = await lighthouse(this.address + path, { logLevel: "error" }, config, this.page);
    assert.equal(lhr.runtimeError, undefined, path);
    assert.equal(new URL(lhr.finalDisplayedUrl).pathname, new URL(path, this.address).pathname);
    return lhr;
  }

  /** Checks that Lighthouse gives a page all points. */
  async audit(path) {
    const lhr = await this.judge(path, PERFECT);
    for (const category of PERFECT) {
      const { score, auditRefs } = lhr.categories[category];
      const lost = auditRefs.map(({ id, weight }) => [id, weight, lhr.audits[id].score])
        .filter(([, weight, score]) => weight > 0 && score !== null && score < 1);
      const seen = lost.map(([id]) => [id, JSON.stringify(lhr.audits[id].details?.items?.slice(0, 3))]);
      assert.equal(score, 1, `${category} of ${path}: ${seen}`);
    }
  }
}
