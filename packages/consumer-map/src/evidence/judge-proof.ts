import type { Proof } from "../proofs.ts";
import type { ProofHashes } from "../sources/hash-proof.ts";
import type { EvidenceRecord } from "./evidence-file.ts";

/** The hashes of a proof as things are now; the files it names that are gone; or nothing, where nobody can tell. */
export type CurrentHashes = ProofHashes | { readonly missing: readonly string[] } | null;

/** What keeps a proof from being one, a sentence each; nothing when it holds. */
export function judgeProof(proof: Proof, record: EvidenceRecord | undefined, current: CurrentHashes): string[] {
  const { name, file } = proof;
  const run = `run \`pnpm exec vitest run ${file}\``;
  if (current !== null && "missing" in current) {
    return current.missing.map((path) =>
      path === file ? `${name}: its evidence ${file} is gone` : `${name}: ${path} is gone, which the map names or its code imports`,
    );
  }
  if (record === undefined) return [`${name}: nothing shows that it is safe; ${run}`];
  if (record.file !== file || record.suite !== proof.suite) {
    return [`${name}: its evidence is of "${record.suite}" in ${record.file}, and the map names "${proof.suite}" in ${file}; ${run}`];
  }
  if (current === null) return [`${name}: there are neither sources nor their hashes to compare its evidence with`];
  const stale = judgeHashes(proof, record, current);
  // Of other code, it says nothing, whatever it says.
  return stale === null ? judgeTests(proof, record) : [`${stale}; ${run}`];
}

function judgeHashes({ name }: Proof, { hashes, ranAt }: EvidenceRecord, current: ProofHashes): string | null {
  if (hashes.sources !== current.sources) return `${name}: its sources have changed since its evidence was made (${ranAt})`;
  if (hashes.tests !== current.tests) return `${name}: its tests have changed since its evidence was made (${ranAt})`;
  return null;
}

function judgeTests(proof: Proof, { tests, result }: EvidenceRecord): string[] {
  const { name, file, suite } = proof;
  const bad = tests.filter((test) => test.result !== "passed").map((test) => `${name}: its evidence ${test.id} ${was(test.result)}`);
  const ran = new Set(tests.map(({ id }) => id));
  const gone = proof.tests.filter((test) => !ran.has(`${file} > ${suite} > ${test}`));
  const reasons = [...bad, ...gone.map((test) => `${name}: its evidence "${suite} > ${test}" is not in ${file} any more`)];
  if (reasons.length > 0 || result === "passed") return reasons;
  return [`${name}: its evidence ${file} ${was(result)} outside of its tests`];
}

function was(result: "passed" | "failed" | "skipped"): string {
  return result === "skipped" ? "was skipped" : result;
}
