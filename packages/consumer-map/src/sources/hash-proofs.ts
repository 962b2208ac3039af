import type { Proof } from "../proofs.ts";
import { hashProof } from "./hash-proof.ts";
import { openWorkspace } from "./open-workspace.ts";

/** The hashes of proofs as the sources of a checkout are now, by name. */
export function hashProofs(repository: string, proofs: readonly Proof[]): Map<string, ReturnType<typeof hashProof>> {
  const workspace = openWorkspace(repository);
  return new Map(proofs.map((proof) => [proof.name, hashProof(workspace, proof)]));
}
