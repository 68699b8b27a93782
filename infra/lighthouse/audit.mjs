// Audits one page with Lighthouse, in a Chromium of its own.
//
// The first line of stdin is {url, header: {name, value} | null, chromium: [program, ...arguments], proxy: {url,
// credentials: {username, password}}}. stdout is the report, or {runtimeError: {code, message}} when there is none, or
// {browserError} when there is no browser. Chromium is controlled by a pipe: no port is open to others, and it ends
// when this process does. It stays in the group of this process, so that both can be killed together. When stdin ends,
// the caller has gone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import lighthouse from "lighthouse";
import puppeteer from "puppeteer-core";

const CONFIG = {
  extends: "lighthouse:default",
  settings: {
    onlyCategories: ["performance"],
    // Screenshots and source maps, which take six times as much as the rest of the report.
    skipAudits: ["final-screenshot", "screenshot-thumbnails", "script-treemap-data"],
    disableFullPageScreenshot: true,
  },
};

/** Chromium's end of `--remote-debugging-pipe`: messages that end with a zero byte. */
class Pipe {
  #rest = [];

  constructor(to, from) {
    this.to = to;
    from.on("data", (chunk) => this.#read(chunk));
    from.on("close", () => this.onclose?.());
    // Chromium has ended, which the event "close" reports.
    for (const stream of [to, from]) stream.on("error", () => {});
  }

  send(message) {
    this.to.write(`${message}\0`);
  }

  close() {
    this.to.end();
  }

  #read(chunk) {
    let end;
    while ((end = chunk.indexOf(0)) >= 0) {
      const message = Buffer.concat([...this.#rest, chunk.subarray(0, end)]).toString();
      this.#rest = [];
      chunk = chunk.subarray(end + 1);
      this.onmessage?.(message);
    }
    this.#rest.push(chunk);
  }
}

/**
 * Sends `header` with the page's requests to its own host, but not over http if the page uses https. Frames from other
 * hosts do not send it.
 */
async function sendHeader(page, url, header) {
  const site = new URL(url);
  const isAtHome = ({ hostname, protocol }) =>
    hostname === site.hostname && (protocol === "https:" || site.protocol === "http:");
  const session = await page.createCDPSession();
  session.on("Fetch.requestPaused", ({ requestId, request }) => {
    const changed = {};
    if (isAtHome(new URL(request.url))) {
      const others = Object.entries(request.headers).filter(
        ([name]) => name.toLowerCase() !== header.name.toLowerCase(),
      );
      // These apply only to this request, and not to the target of a redirect.
      changed.headers = [...others.map(([name, value]) => ({ name, value })), header];
    }
    // A request that has ended needs no answer. One that cannot have the header must not be sent without it.
    session
      .send("Fetch.continueRequest", { requestId, ...changed })
      .catch(() => session.send("Fetch.failRequest", { requestId, errorReason: "Aborted" }))
      .catch(() => {});
  });
  const { protocol, hostname } = site;
  const patterns = (protocol === "https:" ? ["https"] : ["http", "https"]).flatMap((scheme) => [
    { urlPattern: `${scheme}://${hostname}/*` },
    { urlPattern: `${scheme}://${hostname}:*` },
  ]);
  await session.send("Fetch.enable", { patterns });
}

/** A browser, and a promise that fails when its process ends. */
async function launch([program, ...given]) {
  const browserProcess = spawn(program, given, {
    stdio: ["ignore", "ignore", "inherit", "pipe", "pipe"],
  });
  await once(browserProcess, "spawn");
  const exit = once(browserProcess, "exit");
  const ended = exit.then(() => {
    throw new Error("Chromium ended");
  });
  ended.catch(() => {});
  const [, , , to, from] = browserProcess.stdio;
  const connection = puppeteer.connect({ transport: new Pipe(to, from), defaultViewport: null });
  const browser = await Promise.race([connection, ended]);
  const close = async () => {
    // If the browser is closed properly, it ends its own processes, and leaves none for others to reap.
    setTimeout(() => browserProcess.kill("SIGKILL"), 2000).unref();
    browser.close().catch(() => {});
    await exit;
  };
  return { browser, ended, close };
}

/** Has the browser present its credentials to the proxy. It then does so with every request of every page. */
async function authenticate(browser, { url, credentials }) {
  const page = await browser.newPage();
  await page.authenticate(credentials);
  // The response does not matter.
  await page.goto(url).catch(() => {});
  await page.close();
}

/** Closes every page but `own` as it appears. */
function closeOthers(browser, own) {
  browser.on("targetcreated", async (target) => {
    const page = target === own.target() ? null : await target.page().catch(() => null);
    await page?.close().catch(() => {});
  });
}

async function audit(browser, { url, header, proxy }) {
  await authenticate(browser, proxy);
  const page = await browser.newPage();
  closeOthers(browser, page);
  if (header) await sendHeader(page, url, header);
  const result = await lighthouse(url, { logLevel: "error" }, CONFIG, page);
  return result.lhr;
}

async function answer(request) {
  let browser;
  try {
    browser = await launch(request.chromium);
  } catch (error) {
    return { browserError: String(error) };
  }
  try {
    return await Promise.race([audit(browser.browser, request), browser.ended]);
  } catch (error) {
    return { runtimeError: { code: error.code ?? "AUDIT_ERROR", message: String(error.message) } };
  } finally {
    await browser.close();
  }
}

const lines = createInterface({ input: process.stdin });
const [request] = await once(lines, "line");
lines.on("close", () => process.exit(1));
const report = await answer(JSON.parse(request));
process.stdout.write(JSON.stringify(report), () => process.exit(0));
