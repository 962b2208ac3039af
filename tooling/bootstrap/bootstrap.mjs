// Runs on whatever Node a fresh machine has (20 or newer) and needs nothing installed: it installs the
// pinned dependencies, generates the database client, then hands over to a pnpm script, which runs on the
// Node 24 that came with the dependencies.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const [script, ...scriptArgs] = process.argv.slice(2);

const major = Number(process.versions.node.split(".")[0]);
if (major < 20) fail(`expected Node.js 20 or newer, got ${process.versions.node}. Install Node.js 20+ and run the command again.`);
if (!script) fail("expected the name of a package script, got nothing. Use `npm start` or `npm test`.");

const { packageManager } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const signals = ["SIGINT", "SIGTERM"];
let child;
for (const signal of signals) process.on(signal, () => child?.kill(signal));

await pnpm(["install", "--frozen-lockfile", "--reporter=append-only"], { quiet: true });
await pnpm(["run", "--silent", "generate"], { quiet: true });
process.exit(await run(["run", "--silent", script, ...scriptArgs], { stdio: "inherit" }));

/** Runs pnpm and stops the bootstrap, with all that pnpm printed, when it fails. */
async function pnpm(args, { quiet }) {
  const code = await run(args, { stdio: quiet ? ["ignore", "pipe", "pipe"] : "inherit" });
  if (code !== 0) fail(`\`pnpm ${args.join(" ")}\` ended with ${code}. Its output is above.`);
}

function run(args, { stdio }) {
  return new Promise((resolve, reject) => {
    child = spawn("npx", ["--yes", packageManager, ...args], { cwd: root, stdio, env: { ...process.env, CI: process.env.CI ?? "true" } });
    const kept = [];
    child.stdout?.on("data", (chunk) => kept.push(chunk));
    child.stderr?.on("data", (chunk) => kept.push(chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code !== 0 && kept.length > 0) process.stderr.write(Buffer.concat(kept));
      resolve(code ?? (signal === "SIGINT" ? 130 : 1));
    });
  });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
