import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";

/** How a product may have its modules resolved. The last one is for CommonJS that is given ES modules by `require`. */
const RESOLUTIONS = {
  node16: { file: "every-export.mts", module: "node16", moduleResolution: "node16" },
  bundler: { file: "every-export.mts", module: "esnext", moduleResolution: "bundler" },
  "nodenext, from CommonJS": { file: "every-export.cts", module: "nodenext", moduleResolution: "nodenext" },
} as const;

/** Longer, and something that was begun by importing keeps the process alive. */
const LOAD_MS = 60_000;

/**
 * Imports, requires and type-checks every export in a folder where the packages are installed, and type-checks the product's own modules
 * there. What went wrong, a sentence each.
 */
export function checkUse(folder: string, specifiers: readonly string[], modules: readonly string[] = []): string[] {
  const imported = loadAll(folder, "every-export.mjs", importScript(specifiers));
  const required = loadAll(folder, "every-export.cjs", requireScript(specifiers));
  return [
    ...imported.problems,
    ...required.problems,
    ...compareNames(imported.names, required.names),
    ...typeCheck(folder, specifiers, modules),
  ];
}

interface Loaded {
  readonly problems: string[];
  /** The names that each export has, by specifier. */
  readonly names: Readonly<Record<string, readonly string[]>>;
}

function loadAll(folder: string, file: string, script: string): Loaded {
  writeFileSync(join(folder, file), script);
  const { status, stdout, stderr, error } = spawnSync(process.execPath, [file], { cwd: folder, encoding: "utf8", timeout: LOAD_MS });
  if (status !== 0) return { problems: [`expected ${file} to end, got ${error?.message ?? status}: ${stderr}`], names: {} };
  const { problems, names } = JSON.parse(stdout) as Loaded;
  return { problems: [...problems, ...(stderr === "" ? [] : [`expected ${file} to say nothing, got ${stderr}`])], names };
}

function importScript(specifiers: readonly string[]): string {
  return loadScript(specifiers, "import", "await import(specifier)");
}

/** `require` refuses a module with top-level await, its own or one of what it imports. */
function requireScript(specifiers: readonly string[]): string {
  return `(async () => {\n${loadScript(specifiers, "require", "require(specifier)")}})();\n`;
}

function loadScript(specifiers: readonly string[], how: string, load: string): string {
  return `const problems = [];
const names = {};
for (const specifier of ${JSON.stringify(specifiers)}) {
  try {
    names[specifier] = Object.keys(${load}).sort();
  } catch (error) {
    problems.push("${how} of " + specifier + ": " + error);
  }
}
process.stdout.write(JSON.stringify({ problems, names }));
`;
}

function compareNames(imported: Loaded["names"], required: Loaded["names"]): string[] {
  return Object.entries(imported).flatMap(([specifier, names]) => {
    const got = required[specifier];
    if (got === undefined || got.join() === names.join()) return [];
    return [`expected require of ${specifier} to give ${names.join(", ")}, got ${got.join(", ")}`];
  });
}

/** The libraries' own declarations are checked too: a product that has `skipLibCheck` off sees what is wrong in them. */
function typeCheck(folder: string, specifiers: readonly string[], modules: readonly string[]): string[] {
  const names = specifiers.map((specifier, index) => ({ specifier, name: `e${index}` }));
  const list = `export const every: object[] = [${names.map(({ name }) => name).join(", ")}];\n`;
  const imports = names.map(({ specifier, name }) => `import * as ${name} from "${specifier}";\n`);
  const requires = names.map(({ specifier, name }) => `import ${name} = require("${specifier}");\n`);
  writeFileSync(join(folder, "every-export.mts"), `${imports.join("")}${list}`);
  writeFileSync(join(folder, "every-export.cts"), `${requires.join("")}${list}`);
  return Object.entries(RESOLUTIONS).flatMap(([name, { file, ...resolution }]) => {
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ compilerOptions: { ...COMPILER, ...resolution }, files: [file, ...modules] }),
    );
    const tsc = join(ROOT, "node_modules/.bin/tsc");
    const { status, stdout, stderr } = spawnSync(tsc, ["-p", folder, "--pretty", "false"], { cwd: folder, encoding: "utf8" });
    return status === 0 ? [] : [`types under ${name}: ${stdout}${stderr}`];
  });
}

const COMPILER = {
  target: "es2024",
  lib: ["es2024", "esnext.disposable"],
  strict: true,
  noEmit: true,
  skipLibCheck: false,
  types: ["node"],
  typeRoots: [join(ROOT, "node_modules/@types")],
};
