// Members sign in with a real OpenID provider. Others are refused.
//
//   oidc.mjs ADDRESS PORT DATA NODE_MODULES
//
// The service is configured to use the provider on PORT of this machine.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { launch, Window } from "./browser.mjs";

const [api, port, data, modules] = process.argv.slice(2);
const address = api.replace(/\/api\/v1$/, "");
const { default: Provider } = await import(pathToFileURL(createRequire(`${modules}/`).resolve("oidc-provider")));

// It prints long warnings that this is for development only.
console.warn = console.info = () => {};
// Its own forms accept any name and password; here the name is the email address. By default, the address is not in the
// ID token: a client requests it with the access token.
const unverified = "mallory@example.com";
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{
    client_id: process.env.VEDETTE_OIDC_CLIENT_ID,
    client_secret: process.env.VEDETTE_OIDC_CLIENT_SECRET,
    redirect_uris: [`${address}/oidc/callback`],
  }],
  claims: { openid: ["sub"], email: ["email", "email_verified"] },
  pkce: { required: () => true },
  findAccount: (_, email) => ({
    accountId: email,
    claims: () => ({ sub: email, email, email_verified: email !== unverified }),
  }),
});
const faults = [];
provider.on("server_error", (_, error) => faults.push(error));
const server = await new Promise((done) => { const it = provider.listen(port, "127.0.0.1", () => done(it)); });

const token = readFileSync(`${data}/token`, "utf8").trim();
const me = await fetch(`${api}/me`, { headers: { authorization: `Bearer ${token}` } });
const { user } = (await me.json()).data;

const chromium = await launch();

/** A window in which somebody has signed in at the provider and has come back. */
async function signIn(email) {
  const window = await Window.open(chromium, { scripts: false, address });
  const { page } = window;
  await window.go("/");
  assert.equal(window.path(), "/sign-in");
  await window.press("Sign in with Example ID");
  assert.equal(new URL(page.url()).port, port);
  await page.type("[name=login]", email);
  await page.type("[name=password]", "any");
  const submit = () => Promise.all([page.waitForNavigation(), page.click("[type=submit]")]);
  await submit();
  // It asks for consent.
  await submit();
  window.complaints.length = 0;
  return window;
}

try {
  const window = await signIn(user.email);
  assert.match(window.path(), /^\/($|teams\/)/);
  assert.match(await window.text(), /sites, sorted by/);
  await window.go("/sessions");
  assert.match(await window.text(), /This browser/);
  await window.inspect();

  for (const [email, why] of [["grace@example.com", /has no account here/], [unverified, /verified email address/]]) {
    const window = await signIn(email);
    assert.match(await window.text(), why);
    await window.inspect();
    await window.go("/");
    assert.equal(window.path(), "/sign-in");
  }
  assert.deepEqual(faults, []);
  console.log("members alone sign in at an OpenID provider");
} finally {
  await chromium.close();
  server.close();
  server.closeAllConnections();
}
