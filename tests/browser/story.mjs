// A member signs in, adds sites, and sees one go down and come back.
//
//   story.mjs ADDRESS VEDETTE DATA
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { launch, Window } from "./browser.mjs";

const [api, vedette, data] = process.argv.slice(2);
const address = api.replace(/\/api\/v1$/, "");

/** The monitored sites, by path. */
const down = new Set();
const target = createServer((request, response) => {
  response.statusCode = down.has(request.url) ? 503 : 200;
  response.end("ok");
});
await new Promise((done) => target.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${target.address().port}`;

const operate = (...given) =>
  JSON.parse(execFileSync(vedette, ["--json", ...given], { env: { VEDETTE_DATA: data }, encoding: "utf8" }));
const token = readFileSync(`${data}/token`, "utf8").trim();
const ask = async (method, path, body) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(api + path, { method, headers, body: JSON.stringify(body) });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.json();
};

async function signIn(window, email) {
  await window.go("/");
  assert.equal(window.path(), "/sign-in");
  await window.inspect();
  const { link } = operate("sign-in", email, "--url", address);
  await window.page.goto(link);
  await window.press("Sign in");
}

async function liveThrough(window, team, names) {
  await window.go(`/teams/${team}`);
  await window.inspect();
  await window.go(`/teams/${team}/sites/new`);
  await window.inspect();
  // One line is invalid: it stays in the form, with the reason.
  await window.fill("URLs, one per line", [...names.map((name) => `${base}/${name}`), "ftp://example.com"].join("\n"));
  await window.press("Add sites");
  assert.match(await window.text(), /ftp:\/\/example\.com/);
  await window.inspect();

  const last = names.at(-1);
  await window.until(`/teams/${team}`, "all are up", (_, rows) =>
    names.every((name) => rows.some((row) => row.includes(name) && /Up/.test(row))));
  await window.inspect();
  down.add(`/${last}`);
  await window.until(`/teams/${team}`, `${last} is down, and first`, (_, [first]) =>
    /Down/.test(first) && first.includes(last));
  await window.inspect();

  const link = await window.page.$eval("main tbody tr a.name", (link) => link.getAttribute("href"));
  await window.go(link);
  assert.match(await window.text(), /Down for/);
  await window.inspect();
  const issue = await window.page.$eval('main a[href^="/issues/"]', (link) => link.getAttribute("href"));
  await window.go(issue);
  await window.inspect();
  await window.press("Acknowledge");
  assert.equal(window.path(), issue);
  assert.match(await window.text(), /cknowledged/);
  down.delete(`/${last}`);
  await window.until(issue, "it is over", (text) => /[Rr]esolved/.test(text));
  await window.inspect();
  await window.until(link, "the site is up again", (text) => /Up for/.test(text));
  // The hour in which a site was down is a gap.
  await window.go(`/teams/${team}`);
  const rows = (rows, path) => rows.find((row) => row.innerText.includes(path)).querySelector("a").getAttribute("href");
  await lookCloser(window, await window.page.$$eval("main tbody tr", rows, `/${names[0]}`));
  if (window.scripts) {
    for (const path of [`/teams/${team}`, `/teams/${team}/sites/new`, link, issue, "/sessions"]) {
      await window.audit(path);
    }
  }
}

/** With JavaScript, a person zooms into the response times. Without it, they are a picture. */
async function lookCloser(window, site) {
  const { page } = window;
  await window.go(site);
  await window.inspect();
  const isShown = (what) => page.$eval(what, (element) => element.checkVisibility());
  assert.equal(await isShown("[data-step] > .drawn"), !window.scripts);
  // The same when printed.
  await page.emulateMediaType("print");
  assert.equal(await isShown("[data-step] > .drawn"), true);
  await page.emulateMediaType("screen");
  if (!window.scripts) return;
  const isPart = () => page.$eval("[data-step]", (part) => part.hasAttribute("data-zoomed"));
  await page.$eval(".plot.live", (plot) => plot.scrollIntoView());
  const { x, y, width, height } = await (await page.$(".live .u-over")).boundingBox();
  const at = (part) => [x + width * part, y + height / 2];
  assert.equal(await isPart(), false);
  await page.mouse.move(...at(0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.4), { steps: 5 });
  await page.mouse.up();
  assert.equal(await isPart(), true);
  await window.inspect();
  await page.$eval(".plot-hint button", (button) => button.click());
  assert.equal(await isPart(), false);
  await window.audit(site);
  await losesTheConnection(window);
}

/** If a page cannot be refreshed, it says so at once, and no longer when it can be refreshed again. */
async function losesTheConnection(window) {
  const { page } = window;
  const said = () => page.waitForSelector("#lost", { timeout: 5_000 });
  await page.setOfflineMode(true);
  assert.match(await (await said()).evaluate((band) => band.innerText), /Connection lost at .*Trying again/);
  await page.setOfflineMode(false);
  await page.waitForSelector("#lost", { hidden: true, timeout: 10_000 });
  // The failed requests are not errors of the page.
  window.complaints.length = 0;
}

async function changeSettings(window, team) {
  const path = `/teams/${team}/settings/status`;
  const failures = "Failures to open an issue";
  const said = async (label) => window.page.$eval(await window.field(label), (field) => field.value);
  await window.go(path);
  await window.inspect();
  await window.fill(failures, "own");
  await window.fill(`Another number: ${failures}`, "0");
  await window.press("Save");
  assert.match(await window.text(), /Must be at least 1/);
  assert.equal(await said(`Another number: ${failures}`), "0", "what was typed is kept");
  await window.inspect();
  await window.go(path);
  assert.equal(await said(failures), "1", "and changed nothing");
  await window.fill(failures, "3");
  await window.press("Save");
  assert.equal(await said(failures), "3");
  const { data } = await ask("GET", `/teams/${team}/monitoring`);
  assert.equal(data.settings.tools.status.settings.failures_to_open, 3);
  await window.fill(failures, "1");
  await window.press("Save");
}

async function useToken(window, name) {
  await window.go("/tokens");
  await window.inspect();
  await window.fill("Name", name);
  await window.untick("issues:read");
  await window.press("Create token");
  await window.inspect();
  const secret = await window.page.$eval("main code", (code) => code.innerText);
  const use = (path) => fetch(api + path, { headers: { authorization: `Bearer ${secret}` } });
  assert.equal((await use("/me")).status, 200);
  assert.equal((await use("/issues")).status, 403, "what it may not");
  await window.go("/tokens");
  assert.ok(!(await window.page.content()).includes(secret), "it is shown once");
  const revoke = `::-p-xpath(//li[contains(., "${name}")]//button)`;
  await Promise.all([window.page.waitForNavigation(), window.page.$eval(revoke, (button) => button.click())]);
  assert.equal((await use("/me")).status, 401);
}

/** Adds a channel, and invites somebody. */
async function runTheTeam(window, team, guest) {
  const pages = `/teams/${team}`;
  // This service has no mail server.
  await window.go(`${pages}/channels/new?type=email`);
  await window.inspect();
  await window.fill("Address", `${guest}@example.com`);
  await window.press("Add channel");
  assert.match(await window.text(), /This service can’t send email/);
  await window.inspect();

  await window.go(`${pages}/members`);
  await window.fill("Email address", `${guest}@example.com`);
  await window.press("Invite");
  const link = /\/join\/[\w-]+/.exec(await window.text())[0];
  await window.inspect();
  // Somebody else's browser, without a session.
  const other = await Window.open(chromium, { scripts: window.scripts, address });
  await other.go(link);
  await other.inspect();
  await other.press("Decline");
  assert.match(await other.text(), /no longer works/);
  await window.go(`${pages}/members`);
  await window.fill("Email address", `${guest}@example.com`);
  await window.press("Invite");
  await window.go(`${pages}/members`);
  await window.inspect();
  await window.go(`${pages}/plan`);
  await window.inspect();
  await chooseZone(window);
  if (window.scripts) {
    for (const page of ["issues", "settings", "maintenance", "status-pages", "channels", "members", "plan", "events", "audit-log"]) await window.audit(`${pages}/${page}`);
    for (const page of ["/tokens", "/time-zone"]) await window.audit(page);
  }
}

/** Times are in the zone that somebody has chosen, with scripts and without. */
async function chooseZone(window) {
  const { page } = window;
  const zone = "Asia/Kathmandu";
  for (const chosen of [zone, ""]) {
    await window.go("/time-zone");
    await window.inspect();
    await page.select("#time_zone", chosen);
    await window.press("Save");
    assert.match(await window.text(), /Saved/);
    if (!chosen) continue;
    await window.go("/sessions");
    assert.equal(await page.$eval("#zone", (named) => named.textContent), zone);
    const [at, shown] = await page.$eval("main time", (time) => [time.dateTime, time.textContent]);
    const local = new Intl.DateTimeFormat("en-US", { hour: "numeric", minute: "2-digit", timeZone: zone }).format(new Date(at));
    if (window.scripts) assert.ok(shown.endsWith(local), `${shown}, not ${local}`);
    else assert.match(shown, /\+0545$/);
  }
}

/** Somebody without a session reads a status page of the team. */
async function readStatusPage(team, slug, scripts) {
  const [{ uuid: site }] = (await ask("GET", `/teams/${team}/sites`)).data;
  const groups = [{ name: "Checkout", components: [{ name: "Orders", site }] }];
  const page = (await ask("POST", `/teams/${team}/status-pages`, { slug, name: "Meridian Goods", groups })).data;
  const delay = { title: "Orders are delayed", impact: "major", text: "We’re looking into it." };
  await ask("POST", `/teams/${team}/status-pages/${page.uuid}/incidents`, delay);
  const reader = await Window.open(chromium, { scripts, address });
  const path = `/status/${slug}`;
  await reader.until(path, "orders are delayed", (text) => /Orders are delayed/.test(text));
  // Until it was published, the page was not there.
  reader.complaints.length = 0;
  await reader.inspect();
  assert.deepEqual(await reader.page.cookies(), []);
  if (scripts) await reader.audit(path);
  const status = await (await fetch(`${address}${path}/api/v2/status.json`)).json();
  // That of the incident, unless the site is down, too.
  assert.match(status.status.indicator, /^(major|critical)$/);
}

const team = (await ask("GET", "/teams")).data[0].uuid;
const { user } = (await ask("GET", "/me")).data;
const off = { enabled: false, cadence_minutes: 1440 };
await ask("PATCH", `/teams/${team}/monitoring`, { monitoring_settings: { tools: {
  status: { enabled: true, cadence_minutes: 1, settings: { failures_to_open: 1 } },
  ssl: off, dns: off, "broken-links": off, performance: off,
} } });

const chromium = await launch();
try {
  for (const scripts of [true, false]) {
    const window = await Window.open(chromium, { scripts, address });
    await signIn(window, user.email);
    await liveThrough(window, team, scripts ? ["shop", "blog", "docs"] : ["red", "green", "blue"]);
    const guest = scripts ? "grace" : "bob";
    await changeSettings(window, team);
    await useToken(window, guest);
    await runTheTeam(window, team, guest);
    await readStatusPage(team, scripts ? "meridian" : "meridian-2", scripts);
    assert.deepEqual(window.complaints, []);
    console.log(`the story holds ${scripts ? "with" : "without"} scripts`);
  }
} finally {
  await chromium.close();
  target.close();
}
