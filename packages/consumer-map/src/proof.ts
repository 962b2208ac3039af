import { ROUTES } from "@toolctrl/event-router/router";
import { CONSUMERS, type ConsumerName } from "@toolctrl/foundation/consumers";
import { describeError } from "@toolctrl/foundation/errors";
import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import { readCurrentHashes } from "./evidence/current-hashes.ts";
import { readEvidence, type Evidence } from "./evidence/evidence-file.ts";
import { judgeProof, type CurrentHashes } from "./evidence/judge-proof.ts";
import { compareWithDeclared } from "./inventory.ts";
import { CONSUMER_MAP, QUEUES_WITHOUT_EVENTS } from "./map.ts";
import { placesOf } from "./places.ts";
import { listProofs, type Proof, type ProofName } from "./proofs.ts";

export interface ProofState {
  readonly name: ProofName;
  /** When the run was that its evidence is from; null when there is none. */
  readonly ranAt: string | null;
  readonly tests: number;
  /** What keeps it from being proven, a sentence each. */
  readonly reasons: readonly string[];
}

export interface MapProof {
  /** Whether the map is complete, and every consumer in scope proven. */
  readonly proven: boolean;
  /** Why not, a sentence each. */
  readonly reasons: readonly string[];
  /** The state of each proof, those of consumers out of scope included. */
  readonly proofs: readonly ProofState[];
}

/**
 * Compares the map with what is declared and with the evidence, as often as it is asked. The evidence is read anew each time; the code
 * only once: it is what this process runs. `packageFolder` is this package in another checkout.
 */
export function createMapProver(options: { readonly packageFolder?: string } = {}): () => Promise<MapProof> {
  const places = placesOf(options.packageFolder);
  const proofs = listProofs();
  const differences = compareWithDeclared(
    { entries: CONSUMER_MAP, queuesWithoutEvents: Object.keys(QUEUES_WITHOUT_EVENTS) },
    { consumers: CONSUMERS, queues: QUEUE_NAMES, routes: ROUTES },
  );
  let hashes: Promise<Map<string, CurrentHashes>> | undefined;

  return async () => {
    const { evidence, problem } = await readEvidenceOrSay(places.evidence);
    // Nothing to compare the code with: reading all of it would tell nobody anything.
    const current = Object.keys(evidence.proofs).length === 0 ? null : await (hashes ??= readCurrentHashes(places, proofs));
    const states = proofs.map((proof) => stateOf(proof, evidence, current?.get(proof.name) ?? null));
    const reasons = [...differences, ...problem, ...states.filter(({ name }) => isInScope(name)).flatMap((state) => state.reasons)];
    return { proven: reasons.length === 0, reasons, proofs: states };
  };
}

function stateOf(proof: Proof, evidence: Evidence, current: CurrentHashes): ProofState {
  const record = evidence.proofs[proof.name];
  return {
    name: proof.name,
    ranAt: record?.ranAt ?? null,
    tests: record?.tests.length ?? 0,
    reasons: judgeProof(proof, record, current),
  };
}

function isInScope(name: ProofName): boolean {
  return name === "inventory" || CONSUMER_MAP[name satisfies ConsumerName].scope.in;
}

async function readEvidenceOrSay(path: string): Promise<{ evidence: Evidence; problem: string[] }> {
  try {
    return { evidence: await readEvidence(path), problem: [] };
  } catch (error) {
    return { evidence: { proofs: {} }, problem: [`The evidence in ${path} cannot be read: ${describeError(error, 300)}`] };
  }
}
