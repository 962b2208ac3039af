import { readFile } from "node:fs/promises";
import { z } from "zod";
import type { Places } from "../places.ts";
import type { Proof } from "../proofs.ts";
import { holdsSources } from "../sources/holds-sources.ts";
import type { ProofHashes } from "../sources/hash-proof.ts";
import type { CurrentHashes } from "./judge-proof.ts";

const builtSchema = z.record(z.string(), z.object({ sources: z.string(), tests: z.string() }));

/**
 * The hashes of every proof as this process's code is: of the sources where they are, else those that the build left behind.
 * The parser is loaded only where there is something to parse.
 */
export async function readCurrentHashes(
  { repository, sourceHashes }: Places,
  proofs: readonly Proof[],
): Promise<Map<string, CurrentHashes>> {
  if (holdsSources(repository)) {
    const { hashProofs } = await import("../sources/hash-proofs.ts");
    return hashProofs(repository, proofs);
  }
  const built = await readBuilt(sourceHashes);
  return new Map(proofs.map(({ name }) => [name, built[name] ?? null]));
}

async function readBuilt(path: string): Promise<Record<string, ProofHashes>> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "{}";
    throw error;
  });
  return builtSchema.parse(JSON.parse(text));
}
