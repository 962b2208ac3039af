import { readEvidence, writeEvidence } from "./evidence/evidence-file.ts";
import { recordRun, type FileRun } from "./evidence/record-run.ts";
import { placesOf } from "./places.ts";
import { listProofs, type Proof } from "./proofs.ts";
import type { ProofHashes } from "./sources/hash-proof.ts";
import { hashProofs } from "./sources/hash-proofs.ts";

export type { FileRun } from "./evidence/record-run.ts";

export interface EvidenceRecorder {
  /** Takes down what the code is before the tests of some files run. */
  begin(files: readonly string[]): void;
  /** Enters the files that ran completely. Returns the proofs whose code changed meanwhile: theirs is left as it was. */
  end(runs: readonly FileRun[], ranAt: Date): Promise<readonly string[]>;
}

/** Keeps `evidence.json` of a checkout, as a run of its tests goes along. Paths are relative to its root. */
export function createEvidenceRecorder(options: { readonly packageFolder?: string } = {}): EvidenceRecorder {
  const { repository, evidence } = placesOf(options.packageFolder);
  const all = listProofs();
  let before = new Map<string, ReturnType<typeof hashedOf>>();
  const hash = (files: readonly string[]): typeof before => {
    const proofs = all.filter(({ file }) => files.includes(file));
    return new Map([...hashProofs(repository, proofs)].map(([name, answer]) => [name, hashedOf(answer)]));
  };
  return {
    begin(files) {
      before = hash(files);
    },
    async end(runs, ranAt) {
      const files = runs.map(({ file }) => file);
      const after = hash(files);
      const hashesOf = ({ name }: Proof): ProofHashes | null => {
        const [was, is] = [before.get(name) ?? null, after.get(name) ?? null];
        return was !== null && is !== null && was.sources === is.sources && was.tests === is.tests ? is : null;
      };
      const ran = all.filter(({ file }) => files.includes(file));
      if (ran.length > 0) await writeEvidence(evidence, recordRun(await readEvidence(evidence), all, runs, hashesOf, ranAt));
      return ran.filter((proof) => hashesOf(proof) === null).map(({ name }) => name);
    },
  };
}

function hashedOf(answer: ProofHashes | { readonly missing: readonly string[] }): ProofHashes | null {
  return "missing" in answer ? null : answer;
}
