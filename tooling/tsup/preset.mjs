// The one build: an ESM file per entry point of the package's export map, with nothing bundled that comes from a dependency.
// The types are made by tsc: tsup's own declaration build needs a compiler API that TypeScript 7 does not have.
import { readFileSync } from "node:fs";
import { defineConfig } from "tsup";

const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const entries = Object.values(manifest.exports ?? { ".": { source: "./src/main.ts" } }).map((entry) => entry.source);

export default defineConfig({
  entry: entries.map((source) => source.replace("./", "")),
  format: ["esm"],
  target: "node22",
  splitting: true,
  sourcemap: true,
  clean: true,
  skipNodeModulesBundle: true,
  external: [/^@toolctrl\//],
});
