import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readEvidence, writeEvidence, type EvidenceRecord } from "../src/evidence/evidence-file.ts";
import { judgeProof } from "../src/evidence/judge-proof.ts";
import { recordRun, type FileRun } from "../src/evidence/record-run.ts";
import type { Proof } from "../src/proofs.ts";
import { makeWorkspace } from "./scratch-workspace.ts";

const FILE = "apps/worker-general/test/one.e2e.test.ts";
const PROOF: Proof = { name: "audit-append", file: FILE, suite: "one effect", tests: ["twice"], sources: ["a.ts"] };
const OTHER: Proof = { ...PROOF, name: "form-route", file: "apps/worker-general/test/two.e2e.test.ts" };
const HASHES = { sources: "s", tests: "t" };
const RUN: FileRun = { file: FILE, result: "passed", tests: [{ name: "one effect > twice", result: "passed" }] };
const RAN_AT = new Date("2026-12-02T10:00:00.000Z");

function recordOf(run: FileRun = RUN, hashes = HASHES): EvidenceRecord {
  const record = recordRun({ proofs: {} }, [PROOF], [run], () => hashes, RAN_AT).proofs[PROOF.name];
  if (record === undefined) throw new Error("expected the run to be written down");
  return record;
}

const withTests = (...tests: FileRun["tests"]): EvidenceRecord => recordOf({ ...RUN, tests });

describe("a proof", () => {
  test("holds when all tests of its file passed, on the sources and tests as they are", () => {
    expect(judgeProof(PROOF, recordOf(), HASHES)).toEqual([]);
  });

  test.each<[string, EvidenceRecord | undefined, Parameters<typeof judgeProof>[2], string]>([
    ["no run is known", undefined, HASHES, "audit-append: nothing shows that it is safe; run `pnpm exec vitest run"],
    ["its file is gone", recordOf(), { missing: [FILE] }, `audit-append: its evidence ${FILE} is gone`],
    ["its code is gone", recordOf(), { missing: ["a.ts"] }, "audit-append: a.ts is gone"],
    ["nobody knows what it is of", recordOf(), null, "audit-append: there are neither sources nor their hashes"],
    ["its sources changed", recordOf(), { ...HASHES, sources: "s2" }, "audit-append: its sources have changed since"],
    [
      "its sources changed, whatever its tests came to",
      withTests({ name: "one effect > twice", result: "failed" }),
      { ...HASHES, sources: "s2" },
      "audit-append: its sources have changed since",
    ],
    ["its tests changed", recordOf(), { ...HASHES, tests: "t2" }, "audit-append: its tests have changed since"],
    ["the map names another suite", { ...recordOf(), suite: "some" }, HASHES, `audit-append: its evidence is of "some"`],
    [
      "its suite is gone",
      withTests({ name: "another > twice", result: "passed" }),
      HASHES,
      `its evidence "one effect > twice" is not in ${FILE}`,
    ],
    [
      "a named test is gone",
      withTests({ name: "one effect > once", result: "passed" }),
      HASHES,
      `its evidence "one effect > twice" is not in`,
    ],
    ["no test is left", withTests(), HASHES, `audit-append: its evidence "one effect > twice" is not in ${FILE} any more`],
    [
      "a test of it failed",
      withTests(...RUN.tests, { name: "one effect > killed", result: "failed" }),
      HASHES,
      `audit-append: its evidence ${FILE} > one effect > killed failed`,
    ],
    [
      "a test of it was skipped",
      withTests(...RUN.tests, { name: "one effect > killed", result: "skipped" }),
      HASHES,
      `audit-append: its evidence ${FILE} > one effect > killed was skipped`,
    ],
    [
      "a hook of its file failed",
      recordOf({ ...RUN, result: "failed" }),
      HASHES,
      `audit-append: its evidence ${FILE} failed outside of its tests`,
    ],
  ])("does not hold when %s, and says so", (_, record, current, sentence) => {
    const reasons = judgeProof(PROOF, record, current);
    expect(reasons).toEqual([expect.stringContaining(sentence)]);
  });
});

describe("the evidence", () => {
  test("of a file that ran is replaced, that of others stays, and that of proofs nobody names any more goes", () => {
    const old = recordOf();
    const before = { proofs: { [PROOF.name]: old, [OTHER.name]: old, gone: old } };
    const run: FileRun = { ...RUN, file: OTHER.file, result: "failed" };
    const { proofs } = recordRun(before, [PROOF, OTHER], [run], () => ({ sources: "s2", tests: "t2" }), RAN_AT);
    expect(proofs).toEqual({
      [PROOF.name]: old,
      [OTHER.name]: {
        file: OTHER.file,
        suite: OTHER.suite,
        ranAt: RAN_AT.toISOString(),
        hashes: { sources: "s2", tests: "t2" },
        result: "failed",
        tests: [{ id: `${OTHER.file} > one effect > twice`, result: "passed" }],
      },
    });
  });

  test("stays as it was where the code changed while the tests ran", () => {
    const before = { proofs: { [PROOF.name]: recordOf() } };
    expect(recordRun(before, [PROOF], [{ ...RUN, result: "failed" }], () => null, RAN_AT)).toEqual(before);
    expect(recordRun({ proofs: {} }, [PROOF], [RUN], () => null, RAN_AT)).toEqual({ proofs: {} });
  });

  test("is read as it was written, nothing is left beside it, and where none is there is none", async () => {
    const folder = makeWorkspace({});
    const path = join(folder, "evidence.json");
    expect(await readEvidence(path)).toEqual({ proofs: {} });
    const evidence = { proofs: { [PROOF.name]: recordOf() } };
    await writeEvidence(path, evidence);
    expect(await readEvidence(path)).toEqual(evidence);
    expect(readdirSync(folder)).toEqual(["evidence.json"]);
    expect(readFileSync(path, "utf8")).toMatch(/\n$/);
  });
});
