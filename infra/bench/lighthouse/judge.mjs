// Prints Lighthouse's points for the performance of each page: the median of three audits.
//
//   judge.mjs ADDRESS PATH the address of the service, and the path of a link that signs in
import { launch, Window } from "../../../tests/browser/browser.mjs";

const LEAST = 95;
const ROUNDS = 3;
const METRICS = ["first-contentful-paint", "largest-contentful-paint", "server-response-time"];

const [address, link] = process.argv.slice(2);
const chromium = await launch();
const window = await Window.open(chromium, { scripts: true, address });
await window.go(link);
await window.press("Sign in");

/** Returns the first link on a page that begins like this. */
async function linked(path, start) {
  await window.go(path);
  return window.page.$eval(`main a[href^="${start}"]`, (link) => link.getAttribute("href"));
}

await window.go("/");
const team = (await window.page.$eval('nav a[href$="/settings"]', (link) => link.getAttribute("href"))).replace("/settings", "");
const site = await linked(`${team}?search=Checkout`, "/sites/");
const issue = await linked(site, "/issues/");
const check = await linked(`${site}/checks`, "/checks/");
const ofTeam = ["", "?state=up&page=10", "/sites/new", "/events", "/settings", "/channels", "/members", "/plan", "/audit-log"];
const ofSite = ["", "?range=30d", "?range=1y", "/checks", "/report", "/edit"];
const pages = [
  ...ofTeam.map((page) => team + page), ...ofSite.map((page) => site + page), issue, check, "/tokens", "/sessions",
];

const rows = [];
for (const path of pages) {
  const judged = [];
  for (let round = 0; round < ROUNDS; round += 1) judged.push(await window.judge(path, ["performance"]));
  judged.sort((one, other) => one.categories.performance.score - other.categories.performance.score);
  const { categories, audits } = judged[Math.floor(ROUNDS / 2)];
  const points = Math.round(categories.performance.score * 100);
  const name = path.replace(team, "").replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "…") || "/";
  rows.push([name, points, ...METRICS.map((metric) => Math.round(audits[metric]?.numericValue ?? 0))]);
}
await chromium.close();
console.log("| page | points | first paint, ms | largest, ms | server, ms |");
console.log("|---|---:|---:|---:|---:|");
for (const row of rows) console.log(`| ${row.join(" | ")} |`);
const slow = rows.filter(([, points]) => points < LEAST).map(([name]) => name);
if (slow.length > 0) throw new Error(`fewer than ${LEAST} points: ${slow.join(", ")}`);
