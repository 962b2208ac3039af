import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { writeEvidence, type EvidenceRecord } from "./evidence/evidence-file.ts";
import { placesOf } from "./places.ts";
import { listProofs, type Proof, type ProofName } from "./proofs.ts";

/** A folder that stands for this package in an image. */
export interface ProvenPackage {
  /** For `createMapProver`. */
  readonly folder: string;
  remove(): Promise<void>;
}

const HASHES = { sources: "0".repeat(64), tests: "1".repeat(64) };

/**
 * The package as an image carries it, for tests of what asks the gate: no sources but their hashes, and the evidence of runs that all
 * passed. `except` are proofs of which there is none.
 */
export async function createProvenPackage(options: { readonly except?: readonly ProofName[] } = {}): Promise<ProvenPackage> {
  const { except = [] } = options;
  const folder = await mkdtemp(join(tmpdir(), "consumer-map-"));
  const { evidence, sourceHashes } = placesOf(folder);
  const proofs = listProofs();
  await mkdir(dirname(sourceHashes), { recursive: true });
  await writeFile(sourceHashes, JSON.stringify(Object.fromEntries(proofs.map(({ name }) => [name, HASHES]))));
  const proven = proofs.filter(({ name }) => !except.includes(name));
  await writeEvidence(evidence, { proofs: Object.fromEntries(proven.map((proof) => [proof.name, passed(proof)])) });
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

function passed({ file, suite, tests }: Proof): EvidenceRecord {
  const passes = tests.map((test) => ({ id: `${file} > ${suite} > ${test}`, result: "passed" as const }));
  return { file, suite, ranAt: "2026-12-02T00:00:00.000Z", hashes: HASHES, result: "passed", tests: passes };
}
