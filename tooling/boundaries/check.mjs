// Checks what the layers promise: dependencies point down, foundation has no I/O, product code never imports tooling, only env.ts
// reads process.env, every workspace package has a README. Exits 1 with one line for each breach.
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const { layers, tooling } = JSON.parse(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "layers.json"), "utf8"));
const layerOf = new Map(layers.flatMap((names, index) => names.map((name) => [name, index])));
const breaches = [];

for (const manifestPath of globSync("{apps,packages,tooling}/*/package.json", { cwd: root }).sort()) {
  const folder = join(root, dirname(manifestPath));
  const manifest = JSON.parse(readFileSync(join(root, manifestPath), "utf8"));
  const name = manifest.name.replace("@toolctrl/", "");
  if (!existsSync(join(folder, "README.md"))) breaches.push(`${dirname(manifestPath)}: expected a README.md, found none`);
  if (manifestPath.startsWith("tooling/")) continue;
  if (!layerOf.has(name)) breaches.push(`${dirname(manifestPath)}: expected the package in layers.json, found it nowhere`);
  for (const source of globSync("src/**/*.ts", { cwd: folder, exclude: (path) => path.includes("generated") })) {
    checkSource(join(folder, source), name, manifest);
  }
}

for (const line of breaches) process.stderr.write(`${line}\n`);
process.stdout.write(breaches.length === 0 ? "boundaries: no breach\n" : `boundaries: ${breaches.length} breaches\n`);
process.exit(breaches.length === 0 ? 0 : 1);

function checkSource(path, name, manifest) {
  const text = readFileSync(path, "utf8");
  const where = relative(root, path);
  const isTest = /\.(test|test-d)\.ts$/.test(path) || /\/(test|testing)(\/|\.ts$)/.test(path);
  for (const [, target] of text.matchAll(/(?<![\w-])(?:from|import)\s*\(?\s*"([^"]+)"/g))
    checkImport(where, name, manifest, target, isTest);
  if (!isTest && /process\.env/.test(text) && !/(^|\/)env\.ts$/.test(path)) breaches.push(`${where}: expected process.env in env.ts only`);
}

function checkImport(where, name, manifest, target, isTest) {
  if (name === "foundation" && !isTest && !target.startsWith(".") && target !== "zod") {
    breaches.push(`${where}: expected foundation to import zod only, got ${target}`);
  }
  if (!target.startsWith("@toolctrl/")) return;
  const used = target.split("/")[1];
  if (tooling.includes(used) && !isTest) breaches.push(`${where}: expected no tooling at run time, got ${target}`);
  if (tooling.includes(used)) return;
  const declared = manifest.dependencies?.[`@toolctrl/${used}`] ?? (isTest ? manifest.devDependencies?.[`@toolctrl/${used}`] : undefined);
  if (declared === undefined && used !== name) breaches.push(`${where}: expected ${target} among the dependencies, found it missing`);
  if (!isTest && used !== name && layerOf.get(used) >= layerOf.get(name)) {
    breaches.push(`${where}: expected a lower layer than ${name}, got ${target}`);
  }
}
