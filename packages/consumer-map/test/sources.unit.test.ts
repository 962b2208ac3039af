import { describe, expect, test } from "vitest";
import type { Proof } from "../src/proofs.ts";
import { hashProof } from "../src/sources/hash-proof.ts";
import { importClosure } from "../src/sources/import-closure.ts";
import { openWorkspace } from "../src/sources/open-workspace.ts";
import { makeWorkspace, writeInto } from "./scratch-workspace.ts";

const MANIFEST = JSON.stringify({
  name: "@toolctrl/tables",
  exports: { "./rows": { source: "./src/rows.ts", default: "./dist/rows.js" }, "./tool": "./src/tool.ts" },
});

const FILES = {
  "packages/tables/package.json": MANIFEST,
  "packages/tables/src/rows.ts": `export * from "./write-row.ts"; export type { Row } from "./row-type.ts";`,
  "packages/tables/src/write-row.ts": `export const writeRow = (n: number): number => n;`,
  "packages/tables/src/tool.ts": `import client from "./generated/client.ts"; export default client;`,
  "packages/tables/src/row-type.ts": `export type Row = 1;`,
  "packages/foundation/src/consumers.ts": "",
  "packages/foundation/src/queues.ts": "",
  "packages/event-router/src/routes.ts": "",
  "packages/db/prisma/schema.prisma": "model A {}",
  "packages/db/prisma/migrations/1_a/migration.sql": "CREATE TABLE a ();",
  "apps/worker/src/consume.ts": [
    `import { writeRow } from "@toolctrl/tables/rows";`,
    `import type { Job } from "./job-type.ts";`,
    `import { type Other } from "./other-type.ts";`,
    `import "./started.ts";`,
    `import fs from "node:fs";`,
    `import pg from "pg";`,
    `const late = (): Promise<unknown> => import("./late.ts");`,
    `// Not a → program: new URL("./told-of.ts", import.meta.url)`,
    `const beside = new URL("./process.ts", import.meta.url);`,
    `const folder = new URL("../data", import.meta.url);`,
    `export const handle = <T,>(job: Job<T> & Other): number => (fs && pg && late && beside && folder ? writeRow(job.n as number) : 0);`,
  ].join("\n"),
  "apps/worker/src/job-type.ts": `export type Job<T> = { n: T };`,
  "apps/worker/src/other-type.ts": `export type Other = object;`,
  "apps/worker/src/started.ts": `export {};`,
  "apps/worker/src/late.ts": `import tool from "@toolctrl/tables/tool"; export default tool;`,
  "apps/worker/src/process.ts": `export {};`,
  "apps/worker/test/one-effect.ts": `import "../src/consume.ts"; import "./subject.ts";`,
  "apps/worker/test/subject.ts": `export {};`,
} as const;

const PROOF: Proof = {
  name: "audit-append",
  file: "apps/worker/test/one-effect.ts",
  suite: "one effect",
  tests: ["twice"],
  sources: ["apps/worker/src/consume.ts"],
};

const hashIn = (root: string): ReturnType<typeof hashProof> => hashProof(openWorkspace(root), PROOF);

describe("the sources of a consumer", () => {
  test("are what its code loads or starts, through packages of the workspace, and not what it only takes types from", () => {
    const { files, missing } = importClosure(openWorkspace(makeWorkspace(FILES)), PROOF.sources);
    expect(files).toEqual([
      "apps/worker/src/consume.ts",
      "apps/worker/src/late.ts",
      "apps/worker/src/process.ts",
      "apps/worker/src/started.ts",
      "packages/tables/src/rows.ts",
      "packages/tables/src/tool.ts",
      "packages/tables/src/write-row.ts",
    ]);
    expect(missing).toEqual([]);
  });

  test("have one hash in every checkout: wherever it lies, however its files came and its lines end", () => {
    const backwards = Object.entries(FILES)
      .toReversed()
      .map(([path, text]) => [path, text.replaceAll("\n", "\r\n")]);
    expect(hashIn(makeWorkspace(Object.fromEntries(backwards)))).toEqual(hashIn(makeWorkspace(FILES)));
  });

  test.each([
    ["its own code", "apps/worker/src/consume.ts"],
    ["code that it imports by way of others", "packages/tables/src/write-row.ts"],
    ["a program that it starts", "apps/worker/src/process.ts"],
    ["a migration", "packages/db/prisma/migrations/1_a/migration.sql"],
    ["the routes", "packages/event-router/src/routes.ts"],
  ])("have another hash after a change of %s, and the tests keep theirs", (_, path) => {
    const root = makeWorkspace(FILES);
    const before = hashIn(root);
    writeInto(root, path, `${FILES[path as keyof typeof FILES]} `);
    expect(hashIn(root)).toEqual({ ...before, sources: expect.any(String) });
    expect(hashIn(root)).not.toEqual(before);
  });

  test("keep their hash after a change of what they only take types from, and of tests", () => {
    const root = makeWorkspace(FILES);
    const before = hashIn(root);
    writeInto(root, "packages/tables/src/row-type.ts", "export type Row = 2;");
    writeInto(root, "apps/worker/src/other-type.ts", "export type Other = { n: 1 };");
    expect(hashIn(root)).toEqual(before);
    writeInto(root, "apps/worker/test/subject.ts", "export const n = 1;");
    expect(hashIn(root)).toEqual({ ...before, tests: expect.any(String) });
    expect(hashIn(root)).not.toEqual(before);
  });

  test("that are gone are named, with who asks for them", () => {
    const { "apps/worker/src/started.ts": _gone, ...rest } = FILES;
    const root = makeWorkspace({ ...rest, "packages/tables/package.json": JSON.stringify({ name: "@toolctrl/tables", exports: {} }) });
    expect(hashIn(root)).toEqual({
      missing: [
        "apps/worker/src/started.ts (imported by apps/worker/src/consume.ts)",
        "packages/tables/package.json#rows (imported by apps/worker/src/consume.ts)",
        "packages/tables/package.json#tool (imported by apps/worker/src/late.ts)",
      ],
    });
  });
});
