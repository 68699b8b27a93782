#!/usr/bin/env node
// Runs the program from the package for this machine, and passes signals and the exit code on.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

const name = `vedette-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/vedette`);
} catch {
  console.error(`vedette: there is no program for ${process.platform} on ${process.arch}, or npm left out the optional package ${name}`);
  process.exit(1);
}
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`vedette: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
