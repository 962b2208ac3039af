import type { Proof } from "../proofs.ts";
import type { ProofHashes } from "../sources/hash-proof.ts";
import type { Evidence, EvidenceRecord, TestResult } from "./evidence-file.ts";

/** How a test file ended that ran completely. */
export interface FileRun {
  readonly file: string;
  readonly result: TestResult;
  readonly tests: ReadonlyArray<{ readonly name: string; readonly result: TestResult }>;
}

/**
 * The evidence after a run: new for the proofs whose file ran, as it was for the others, nothing any more of what the map does not name.
 * A proof without hashes keeps what it had: its sources changed while it ran, so nobody can say what was proven.
 */
export function recordRun(
  before: Evidence,
  proofs: readonly Proof[],
  runs: readonly FileRun[],
  hashesOf: (proof: Proof) => ProofHashes | null,
  ranAt: Date,
): Evidence {
  const records = proofs.flatMap((proof): Array<[string, EvidenceRecord]> => {
    const { name, file, suite } = proof;
    const old = before.proofs[name];
    const run = runs.find((each) => each.file === file);
    const hashes = run === undefined ? null : hashesOf(proof);
    if (run === undefined || hashes === null) return old === undefined ? [] : [[name, old]];
    const tests = run.tests.map((test) => ({ id: `${file} > ${test.name}`, result: test.result }));
    return [[name, { file, suite, ranAt: ranAt.toISOString(), hashes, result: run.result, tests }]];
  });
  return { proofs: Object.fromEntries(records) };
}
