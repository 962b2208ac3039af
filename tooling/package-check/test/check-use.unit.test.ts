import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { checkUse } from "../src/check-use.ts";

const FILES = {
  "package.json": JSON.stringify({
    name: "@toolctrl/sample",
    type: "module",
    exports: { "./fine": "./fine.js", "./waits": "./waits.js", "./untyped": "./untyped.js", "./broken": "./broken.js" },
  }),
  "fine.js": "export const fine = 1;\n",
  "fine.d.ts": "export declare const fine: number;\n",
  "waits.js": "export const waits = await Promise.resolve(1);\n",
  "waits.d.ts": "export declare const waits: number;\n",
  "untyped.js": "export const untyped = 1;\n",
  "broken.js": 'import { gone } from "./fine.js";\nexport const broken = gone;\n',
  "broken.d.ts": "export declare const broken: number;\n",
};

/** A folder in which a package with these files is installed. */
function install(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "product-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const installed = join(folder, "node_modules/@toolctrl/sample");
  mkdirSync(installed, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(installed, name), text);
  return folder;
}

test("an export that cannot be imported, required or typed is found, and one that can is not", () => {
  const specifiers = ["fine", "waits", "untyped", "broken"].map((name) => `@toolctrl/sample/${name}`);
  const found = checkUse(install(FILES), specifiers);
  const untyped = "Could not find a declaration file for module '@toolctrl/sample/untyped'";
  expect(found).toEqual([
    expect.stringMatching(/^import of @toolctrl\/sample\/broken: SyntaxError/),
    expect.stringMatching(/^require of @toolctrl\/sample\/waits: .*ERR_REQUIRE_ASYNC_MODULE/),
    expect.stringMatching(/^require of @toolctrl\/sample\/broken: SyntaxError/),
    ...["node16", "bundler", "nodenext, from CommonJS"].map((name) => expect.stringContaining(`types under ${name}: every-export`)),
  ]);
  expect(found.filter((problem) => problem.includes(untyped))).toHaveLength(3);
  expect(found.join("\n")).not.toContain("sample/fine");
});
