import { cpSync } from "node:fs";
import { join } from "node:path";
import { writeEvidence, type EvidenceRecord } from "../src/evidence/evidence-file.ts";
import { placesOf } from "../src/places.ts";
import { createMapProver } from "../src/proof.ts";
import { listProofs, type Proof } from "../src/proofs.ts";
import { hashProofs } from "../src/sources/hash-proofs.ts";
import { replaceOnce, runScript, type Ended } from "./repository-copy.ts";

const PACKAGE = "packages/consumer-map";

/** Leaves in a copy what runs of all tests would have left, had each of them passed. */
export async function proveAll(copy: string): Promise<void> {
  const hashes = hashProofs(copy, listProofs());
  const records = listProofs().map((proof): [string, EvidenceRecord] => [proof.name, passed(proof, hashes.get(proof.name))]);
  await writeEvidence(placesOf(join(copy, PACKAGE)).evidence, { proofs: Object.fromEntries(records) });
}

function passed({ file, suite, tests }: Proof, hashes: ReturnType<ReturnType<typeof hashProofs>["get"]>): EvidenceRecord {
  if (hashes === undefined || "missing" in hashes) throw new Error(`expected ${file} and what it is of, got ${JSON.stringify(hashes)}`);
  const passes = tests.map((test) => ({ id: `${file} > ${suite} > ${test}`, result: "passed" as const }));
  return { file, suite, ranAt: "2026-12-02T10:00:00.000Z", hashes, result: "passed", tests: passes };
}

/** What speaks against the map of a copy whose map is ours. */
export async function findReasons(copy: string): Promise<readonly string[]> {
  return (await createMapProver({ packageFolder: join(copy, PACKAGE) })()).reasons;
}

/** The check of the map as CI runs it. */
export function checkAsCi(copy: string): Promise<Ended> {
  return runScript(copy, `${PACKAGE}/scripts/check.ts`);
}

/** The sources of the map's package once more, beside them, without one entry. @returns the folder's name. */
export function withoutEntry(copy: string, name: string): string {
  const folder = `src-without-${name}`;
  cpSync(join(copy, PACKAGE, "src"), join(copy, PACKAGE, folder), { recursive: true });
  deleteEntry(join(copy, PACKAGE, folder, "map.ts"), name);
  return folder;
}

/** Deletes an entry: from its name to the brace that closes it. The answer undoes it. */
export function deleteEntry(file: string, name: string): () => void {
  return replaceOnce(file, new RegExp(`^  "?${name}"?: \\{\\n(?:    .*\\n)+  \\},\\n`, "m"), "");
}

export interface GateAnswer {
  readonly folder: string;
  readonly state: string;
  readonly reasons: readonly string[];
}

/** What the gate answers about the map, from the sources of its package or from folders beside them. */
export async function askGates(copy: string, folders: readonly string[] = ["src"]): Promise<GateAnswer[]> {
  const { code, lines } = await runScript(copy, `${PACKAGE}/test/ask-gates.ts`, folders);
  if (code !== 0) throw new Error(`expected the gates to answer, got:\n${lines.join("\n")}`);
  return lines.map((line) => JSON.parse(line) as GateAnswer);
}
