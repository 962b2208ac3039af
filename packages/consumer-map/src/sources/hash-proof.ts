import { createHash } from "node:crypto";
import type { Proof } from "../proofs.ts";
import { importClosure } from "./import-closure.ts";
import type { Workspace } from "./open-workspace.ts";

/** What a proof was made of. */
export interface ProofHashes {
  /** The sources that are proven, with the migrations and the routes. */
  readonly sources: string;
  /** The tests that prove it, with the test code that they use. */
  readonly tests: string;
}

/** Bound to no import: the tables that a consumer writes, and the routes that lead to it. */
const ALSO = ["packages/foundation/src/consumers.ts", "packages/foundation/src/queues.ts", "packages/event-router/src/routes.ts"];
const TABLES = "packages/db/prisma/{schema.prisma,migrations/**/*.sql}";

/** Tests compose whole apps; what they prove of those is among the sources. */
const isTestCode = (path: string): boolean => /^tooling\/|\/test\//.test(path);

/** The hashes of a proof as the sources are now, or the files that are gone. The same in every checkout, wherever it lies. */
export function hashProof(workspace: Workspace, proof: Proof): ProofHashes | { readonly missing: readonly string[] } {
  const sources = importClosure(workspace, [...proof.sources, ...ALSO]);
  const tests = importClosure(workspace, [proof.file], isTestCode);
  const missing = [...sources.missing, ...tests.missing];
  if (missing.length > 0) return { missing };
  const tables = workspace.list(TABLES);
  return { sources: hashFiles(workspace, [...sources.files, ...tables]), tests: hashFiles(workspace, tests.files) };
}

function hashFiles(workspace: Workspace, files: readonly string[]): string {
  const hash = createHash("sha256");
  for (const path of files) hash.update(`${path}\0${workspace.digestOf(path)}\n`);
  return hash.digest("hex");
}
