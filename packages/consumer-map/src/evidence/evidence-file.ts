import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { z } from "zod";

const resultSchema = z.enum(["passed", "failed", "skipped"]);

const recordSchema = z.object({
  file: z.string(),
  suite: z.string(),
  ranAt: z.iso.datetime(),
  /** What the run was of: the sources that it proves, and the tests. */
  hashes: z.object({ sources: z.string(), tests: z.string() }),
  /** How the file as a whole ended: a hook can fail without a test. */
  result: resultSchema,
  /** Every test of the file, `file > suite > test`. */
  tests: z.array(z.object({ id: z.string(), result: resultSchema })),
});

const evidenceSchema = z.object({ proofs: z.record(z.string(), recordSchema) });

export type TestResult = z.output<typeof resultSchema>;
/** What the last complete run of a proof's file came to. */
export type EvidenceRecord = z.output<typeof recordSchema>;
export type Evidence = z.output<typeof evidenceSchema>;

/** What test runs have left behind; nothing where none has run. @throws ZodError or SyntaxError when it is something else. */
export async function readEvidence(path: string): Promise<Evidence> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  });
  return text === null ? { proofs: {} } : evidenceSchema.parse(JSON.parse(text));
}

/** Replaces the file in one step: a reader sees the old one or the new one. */
export async function writeEvidence(path: string, evidence: Evidence): Promise<void> {
  const next = `${path}.${randomUUID()}`;
  try {
    await writeFile(next, `${JSON.stringify(evidence, null, 2)}\n`);
    await rename(next, path);
  } finally {
    await rm(next, { force: true });
  }
}
