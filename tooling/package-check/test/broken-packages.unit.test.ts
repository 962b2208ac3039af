import { describe, expect, test } from "vitest";
import { checkFiles } from "../src/check-files.ts";
import { checkImports } from "../src/check-imports.ts";
import { checkManifest } from "../src/check-manifest.ts";
import { lintWithAttw, lintWithPublint } from "../src/lint-package.ts";
import { packedPackageOf, type PackedPackage } from "../src/packed-package.ts";

const MANIFEST = {
  name: "@toolctrl/sample",
  version: "0.1.0",
  files: ["dist"],
  type: "module",
  exports: { "./a": "./dist/a.js" },
  dependencies: { bullmq: "6.7.0", ioredis: "6.0.0" },
  engines: { node: ">=22.19" },
};

const FILES = {
  "README.md": "# Sample",
  "dist/a.js": 'import { Queue } from "bullmq";\nexport const make = (name) => new Queue(name);\n',
  "dist/a.js.map": JSON.stringify({ sources: ["../src/a.ts"] }),
  "dist/a.d.ts": 'import { Queue } from "bullmq";\nexport declare const make: (name: string) => Queue;\n',
};

/** A package as it should be, but for what is given. */
function sample(manifest: object = {}, files: Readonly<Record<string, string>> = {}): PackedPackage {
  const text = JSON.stringify({ ...MANIFEST, ...manifest });
  return packedPackageOf(new Map(Object.entries({ ...FILES, "package.json": text, ...files })));
}

async function check(packed: PackedPackage): Promise<string[]> {
  const ours = [...checkManifest(packed), ...checkFiles(packed, []), ...checkImports(packed)];
  return [...ours, ...(await lintWithPublint(packed)), ...(await lintWithAttw(packed))];
}

describe("a package that products can use", () => {
  test("passes every check", async () => {
    expect(await check(sample())).toEqual([]);
  });

  test("leads to one file: `types` behind `default` are seen by nobody", async () => {
    const found = await check(sample({ exports: { "./a": { default: "./dist/a.js", types: "./dist/a.d.ts" } } }));
    expect(found).toContain("expected ./a to lead to one file, its types beside it, got the conditions default, types");
    expect(found.join("\n")).toMatch(/publint: .*types/);
  });

  test("leads to files that are packed, with their types", () => {
    expect(checkManifest(sample({ exports: { "./a": "./dist/a.js", "./b": "./dist/b.js" } }, { "dist/b.js": "" }))).toEqual([
      "expected ./dist/b.d.ts, which ./b leads to, got no such file",
    ]);
  });

  test("has versions that mean something outside of the workspace", () => {
    const dependencies = { ...MANIFEST.dependencies, zod: "catalog:" };
    expect(checkManifest(sample({ dependencies }))).toEqual(["expected a version of zod, got catalog:"]);
  });

  test("declares ioredis beside bullmq, and the Node.js that can require it", () => {
    expect(checkManifest(sample({ dependencies: { bullmq: "6.7.0" }, engines: { node: ">=20" } }))).toEqual([
      "expected ioredis beside bullmq among the dependencies, got none",
      "expected engines.node to be >=22.19, got >=20",
    ]);
  });

  test("has its own code alone: a bundled dependency is found by the source map", () => {
    const sources = ["../src/a.ts", "../../../node_modules/.pnpm/bullmq@6.7.0/node_modules/bullmq/dist/esm/classes/queue.js"];
    expect(checkImports(sample({}, { "dist/a.js.map": JSON.stringify({ sources }) }))).toEqual([
      "expected bullmq to be imported, got a copy of it in dist/a.js.map",
    ]);
  });

  test("declares what its code and its types import", () => {
    const files = {
      "dist/a.js": 'import "node:fs";\nexport { z } from "zod/v4";\nexport const b = () => import("@prisma/client/runtime");\n',
      "dist/a.d.ts": 'export { z } from "zod/v4";\nexport declare const b: () => Promise<import("pg").Pool>;\n',
    };
    expect(checkImports(sample({}, files))).toEqual([
      "expected zod, which dist/a.js imports, among the dependencies, got it missing",
      "expected @prisma/client, which dist/a.js imports, among the dependencies, got it missing",
      "expected zod, which dist/a.d.ts imports, among the dependencies, got it missing",
      "expected pg, which dist/a.d.ts imports, among the dependencies, got it missing",
      "expected @types/pg, which dist/a.d.ts imports, among the dependencies, got it missing",
    ]);
  });

  test("has no test, no source and no secret, and has the migrations that the repository has", () => {
    const key = ["-----BEGIN", "PRIVATE KEY-----"].join(" ");
    const files = { "dist/a.test.js": "", "src/a.ts": "", "dist/b.js": `export const key = "${key}";` };
    expect(checkFiles(sample({ name: "@toolctrl/db" }, files), ["1_init"])).toEqual([
      "expected prisma/schema.prisma, got no such file",
      "expected prisma/schema-dump.json, got no such file",
      "expected dist/generated/client.d.ts, got no such file",
      "expected prisma/migrations/1_init/migration.sql, got no such file",
      "expected what a product needs, got dist/a.test.js",
      "expected what a product needs, got src/a.ts",
      "expected no secret, got one in dist/b.js",
    ]);
  });

  test("has types that are those of an ES module, and that resolve", async () => {
    const found = await lintWithAttw(sample({}, { "dist/a.d.ts": 'export { make } from "./gone";\n' }));
    expect(found.join("\n")).toContain("InternalResolutionError");
  });
});
