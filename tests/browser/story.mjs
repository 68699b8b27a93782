// A member signs in, adds sites, and sees one go down and come back.
//
//   story.mjs ADDRESS VEDETTE DATA
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createServer } from "node:http";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
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
  const first = await window.page.$$eval("main tbody tr", rows, `/${names[0]}`);
  await lookCloser(window, first);
  if (window.scripts) {
    await seeShortAxes(window, first);
    await watchAnOutage(window, team, first, names[0]);
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
  // In one step, because a refresh replaces it.
  const hint = () => page.evaluate(() => document.querySelector(".plot-hint").innerText);
  assert.match(await hint(), /Paused/);
  await page.evaluate(() => refresh());
  assert.equal(await isPart(), true, "a refresh leaves it");
  await page.$eval(".plot-hint button", (button) => button.click());
  assert.equal(await isPart(), false);
  assert.doesNotMatch(await hint(), /Paused/);
  await window.audit(site);
  await losesTheConnection(window);
}

/** The axis with JavaScript is that of the picture, however few values there are. */
async function seeShortAxes(window, site) {
  const { page } = window;
  for (const range of ["24h", "7d", "30d", "90d", "1y"]) {
    for (const count of [0, 1, 2]) {
      await window.go(`${site}?range=${range}`);
      const [values, axis, expected, isPicture] = await page.evaluate(async (count) => {
        const part = document.querySelector("[data-step]");
        drawn.destroy();
        for (const live of part.querySelectorAll(".live, .plot-hint")) live.remove();
        const [row] = part.querySelectorAll("tbody tr");
        const { step } = part.dataset;
        // With a second value, the axis begins a place earlier.
        part.dataset.from -= step * (count - 1);
        const rows = Array.from({ length: count }, (_, place) => {
          const other = row.cloneNode(true);
          const time = other.querySelector("time");
          time.dateTime = new Date(Date.parse(time.dateTime) - 1000 * step * place).toISOString();
          return other;
        });
        part.querySelector("tbody").replaceChildren(...rows);
        draw();
        // uPlot sets its scales a moment later.
        await new Promise(requestAnimationFrame);
        const { min, max } = drawn?.scales.x ?? {};
        const { from, to } = part.dataset;
        const known = drawn?.data[1].filter((value) => value !== null).length ?? 0;
        return [known, [min, max], [Number(from), Number(to)], part.querySelector(".drawn").checkVisibility()];
      }, count);
      assert.equal(values, count, range);
      assert.equal(isPicture, count === 0, range);
      if (count > 0) assert.deepEqual(axis, expected, `${count} in ${range}`);
    }
  }
}

/** Repeats a question until the answer is yes. */
async function soon(seconds, what, isSo) {
  for (const end = Date.now() + 1000 * seconds; !(await isSo()); ) {
    assert.ok(Date.now() < end, `within ${seconds} s: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

/** Somebody looks at tabs with the list and a site, and later its issue. They show what the newest check found. */
async function watchAnOutage(window, team, site, name) {
  const open = async (path) => {
    const tab = new Window(await window.page.browserContext().newPage(), true, address);
    // Each tab is looked at.
    await (await tab.page.createCDPSession()).send("Emulation.setFocusEmulationEnabled", { enabled: true });
    await tab.go(path);
    return tab;
  };
  const shown = async ({ page }) => page.evaluate(() => ({
    title: document.title,
    icon: /icon-(\w+)-/.exec(document.querySelector("link[rel=icon]").href)[1],
    mark: document.querySelector(".brand .mark").classList[1],
    count: parseInt(document.getElementById("unacknowledged").textContent) || 0,
    state: document.querySelector("h1 + .pill, tbody tr .pill").innerText,
    bar: [...document.querySelectorAll(".d90 path")].map((bar) => bar.classList[0])[0],
  }));
  const failures = (failures_to_open) => ask("PATCH", `/teams/${team}/monitoring`, { monitoring_settings: { tools: {
    status: { enabled: true, cadence_minutes: 1, settings: { failures_to_open } },
  } } });
  await failures(10);
  const [list, page] = [await open(`/teams/${team}?search=${name}`), await open(site)];
  const agree = (seconds, words, icon, count) => soon(seconds, `${words}, ${icon}, ${count}`, async () => {
    const tabs = await Promise.all([list, page].map(shown));
    return tabs.every((tab) => tab.title.includes(words) && tab.icon === icon && tab.mark === icon && tab.count === count);
  });
  await agree(5, "up", "up", 0);
  // What somebody does with the page stays, while the rest of it is refreshed.
  await list.page.type("#search", "x");
  await page.page.focus(".title .menu summary");
  down.add(`/${name}`);
  const refreshed = () => Promise.all([list, page].map((tab) => tab.page.evaluate(() => refresh())));
  await soon(10, "a check fails", async () => {
    await refreshed();
    return (await shown(page)).icon === "failing";
  });
  await refreshed();
  await agree(1, "failing", "failing", 0);
  // From now on, the tabs refresh themselves every 5 seconds.
  await agree(30, "is down", "down", 1);
  assert.deepEqual((await Promise.all([list, page].map(shown))).map(({ state }) => state), ["Down", "Down"]);
  assert.equal(await list.page.$eval("#search", (field) => field === document.activeElement && field.value), `x${name}`);
  assert.equal(await page.page.evaluate(() => document.activeElement.matches(".title .menu summary")), true);
  const path = await page.page.$eval('main a[href^="/issues/"]', (link) => link.getAttribute("href"));
  const issue = await open(path);
  assert.equal((await issue.page.$eval("h1", (title) => title.innerText)), (await issue.page.title()).split(" · ")[0]);
  await seeSecondsPass(issue);
  await window.go(path);
  await window.press("Acknowledge");
  await agree(8, "is down", "down", 0);
  down.delete(`/${name}`);
  await agree(20, "up", "up", 0);
  await soon(8, "the issue is over", async () => (await issue.page.title()).includes("was down") && /icon-up/.test(await issue.page.$eval("link[rel=icon]", (icon) => icon.href)));
  await isHeldBack(issue);
  await keepsWhatIsInUse(page, `/teams/${team}/maintenance`);
  await failures(1);
  for (const tab of [list, page, issue]) await tab.page.close();
}

/** Times pass without a refresh, as the service would write them. */
async function seeSecondsPass({ page }) {
  const said = await page.evaluate(() => {
    clearTimeout(timer);
    return [[0, 59, 3_599, 86_399, 86_400, 604_799, -300].map(ago), [45, 720, 3_900, 7_200, 180_000].map(lasting)];
  });
  assert.deepEqual(said, [
    ["0 s ago", "59 s ago", "59 min ago", "23 h ago", "1 day ago", "6 days ago", "in 5 min"],
    ["45 s", "12 min", "1 h 5 min", "2 h", "2 d 2 h"],
  ]);
  const lasted = () => page.$eval(".clock time", (time) => parseInt(time.textContent));
  const before = await lasted();
  await soon(3, "a second has passed", async () => (await lasted()) > before || /min/.test(await page.$eval(".clock", (clock) => clock.innerText)));
  await page.evaluate(() => refresh());
}

/** After too many requests, a page waits as long as it was told to. */
async function isHeldBack({ page }) {
  let requests = 0;
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    requests += 1;
    request.respond({ status: 429, headers: { "retry-after": "3" }, body: "" });
  });
  await page.evaluate(() => refresh());
  assert.match(await page.$eval("#lost", (band) => band.innerText), /Paused after too many requests.*in 3 seconds/);
  await page.evaluate(() => refreshSoon());
  assert.equal(requests, 1);
  await soon(5, "it tries again", () => requests === 2);
}

/** A row or a field that comes first leaves what somebody has ticked, chosen or opened with its own row. */
async function keepsWhatIsInUse({ page }, path) {
  await page.goto(`${address}${path}`);
  const changed = await page.evaluate(() => {
    const [next, main] = [document.querySelector("main").cloneNode(true), document.querySelector("main")];
    const boxes = [...main.querySelectorAll(".check input[type=checkbox]")];
    const box = boxes.at(-1);
    box.checked = true;
    const first = next.querySelector(".check").cloneNode(true);
    first.querySelector("input").setAttribute("value", "another");
    first.querySelector("input").id = first.querySelector("label").htmlFor = "another";
    next.querySelector(".check").before(first);
    next.querySelector(".stack, .wrap").prepend(Object.assign(document.createElement("section"), { className: "card", id: "another-part" }));
    become(main, next);
    const added = main.querySelectorAll(".check input[type=checkbox]").length - boxes.length;
    return { added, isTicked: box.isConnected && box.checked };
  });
  assert.deepEqual(changed, { added: 1, isTicked: true });
}

/** If a page cannot be refreshed, it says so at once, and no longer when it can be refreshed again. */
async function losesTheConnection(window) {
  const { page } = window;
  const said = () => page.waitForSelector("#lost", { timeout: 5_000 });
  await page.setOfflineMode(true);
  assert.match(await (await said()).evaluate((band) => band.innerText), /Connection lost at .*Trying again/);
  const tab = async () => [await page.title(), await page.$eval("link[rel=icon]", (icon) => icon.href)].join(" ");
  assert.match(await tab(), /^Connection lost · .*icon-unknown/);
  await page.setOfflineMode(false);
  await page.waitForSelector("#lost", { hidden: true, timeout: 10_000 });
  assert.match(await tab(), /is up · .*icon-up/);
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
  if (window.scripts) {
    await window.page.evaluate(() =>
      document.addEventListener("copy", () => { window.copied = getSelection().toString(); }));
    await window.page.click("main .copy");
    assert.equal(await window.page.evaluate(() => window.copied), secret);
    assert.equal(await window.page.$eval("main .copy", (button) => button.textContent), "Copied");
  } else {
    assert.equal(await window.page.$(".copy"), null, "a button without a script does nothing");
  }
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

/** Sets up a second service on this machine. The first one stays signed in, although both get all cookies. */
async function setUpAnother(window) {
  const folder = mkdtempSync(`${data}-another-`);
  const service = spawn(vedette, ["serve", "--data", folder, "--listen", "127.0.0.1:0", "--quiet"], {
    env: { PATH: process.env.PATH, VEDETTE_DOH: "none", VEDETTE_RDAP: "none", VEDETTE_AUDITOR: "none" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    let said = "";
    for await (const part of service.stdout) {
      said += part;
      if (/\/setup\/[\w-]+\s/.test(said)) break;
    }
    const [link] = /http:\S+\/setup\/[\w-]+/.exec(said);
    const { page } = window;
    const other = new URL(link);
    await page.goto(other.origin);
    assert.match(await window.text(), /This service has no account yet/);
    await page.goto(`${link.slice(0, -3)}xxx`);
    assert.match(await window.text(), /This set-up link is wrong/);
    await page.emulateTimezone("Europe/Berlin");
    await page.goto(link);
    await window.fill("Your name", "Kate");
    await window.fill("Email address", "kate@example.com");
    await window.press("Create account");
    const pages = page.url();
    assert.match(pages, /\/teams\//);
    await page.goto(`${pages}/time-zone`);
    assert.equal(await page.$eval("#time_zone", (field) => field.value), window.scripts ? "Europe/Berlin" : "UTC");
    await page.emulateTimezone();
    // The wrong link was a 404.
    window.complaints.length = 0;
    await window.go("/sessions");
    assert.equal(window.path(), "/sessions", "the first service still knows who this is");
    await page.goto(pages);
    assert.equal(page.url(), pages, "and so does the second");
  } finally {
    service.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Renames the user and the team. */
async function nameThings(window, team) {
  for (const [path, name] of [["/name", "Ada"], [`/teams/${team}/name`, "Meridian"]]) {
    await window.go(path);
    await window.inspect();
    await window.fill("Name", name);
    await window.press("Save");
    assert.match(await window.text(), /Saved/);
    assert.match(await window.page.$eval("header.bar", (bar) => bar.innerText), new RegExp(name));
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
    await nameThings(window, team);
    await setUpAnother(window);
    await readStatusPage(team, scripts ? "meridian" : "meridian-2", scripts);
    assert.deepEqual(window.complaints, []);
    console.log(`the story holds ${scripts ? "with" : "without"} scripts`);
  }
} finally {
  await chromium.close();
  target.close();
}
