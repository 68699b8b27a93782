// Unpacks the Chromium of @sparticuz/chromium, with the libraries and fonts that it needs, into
// node_modules/.chromium, where the script `chromium` finds them.
import { chmod, mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const from = new URL("node_modules/@sparticuz/chromium/bin/", import.meta.url);
const to = fileURLToPath(new URL("node_modules/.chromium/", import.meta.url));
await mkdir(to, { recursive: true });
// `inflate` writes into the folder for temporary files.
process.env.TMPDIR = to;
const { inflate } = await import("@sparticuz/chromium");
for (const archive of ["al2023.tar.br", "fonts.tar.br", "swiftshader.tar.br", "chromium.br"]) {
  await inflate(fileURLToPath(new URL(archive, from)));
}
// The user who runs Chromium may be another one than the one who installs it.
await chmod(`${to}chromium`, 0o755);
