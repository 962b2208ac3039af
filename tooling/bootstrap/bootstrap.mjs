// Runs on whatever Node a fresh machine has (20 or newer) and needs nothing installed: it installs the pinned dependencies, generates
// the database client, then runs a package script on the Node 24 that came with the dependencies.
//
// The script is started without pnpm in between: one process less stands between Ctrl-C and what has to hear it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const { packageManager, scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const [script, ...scriptArgs] = process.argv.slice(2);
let child;

const major = Number(process.versions.node.split(".")[0]);
if (major < 20) fail(`expected Node.js 20 or newer, got ${process.versions.node}. Install Node.js 20+ and run the command again.`);
if (!script || !scripts[script])
  fail(`expected the name of a package script, got ${script ?? "nothing"}. Use \`npm start\` or \`npm test\`.`);

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child?.kill(signal));

process.stderr.write("Installing the pinned dependencies …\n");
await pnpm(["install", "--frozen-lockfile", "--reporter=append-only"]);
await pnpm(["--silent", "generate"]);

const [command, ...args] = scripts[script].split(" ");
const bin = join(root, "node_modules", ".bin");
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH ?? ""}` };
// The channel tells the script that we are gone, however we went.
process.exit(await run(join(bin, command), [...args, ...scriptArgs], { stdio: ["inherit", "inherit", "inherit", "ipc"], env }));

/** Runs pnpm, silent unless it fails; then everything it printed is shown and the bootstrap ends. */
async function pnpm(args) {
  const code = await run("npx", ["--yes", packageManager, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, CI: "true" },
  });
  if (code !== 0) fail(`\`pnpm ${args.join(" ")}\` ended with ${code}; what it printed is above.`);
}

function run(command, args, options) {
  return new Promise((resolve, reject) => {
    child = spawn(command, args, { cwd: root, ...options });
    const printed = [];
    child.stdout?.on("data", (chunk) => printed.push(chunk));
    child.stderr?.on("data", (chunk) => printed.push(chunk));
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code !== 0) process.stderr.write(Buffer.concat(printed));
      resolve(code ?? (signal === "SIGINT" ? 130 : 143));
    });
  });
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
