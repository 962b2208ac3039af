import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { ConsumerMapEntry, NamedTests } from "./entry.ts";
import { CONSUMER_MAP } from "./map.ts";

/** Something that a test run proves: that a consumer makes one effect, or that the map is what the apps run. */
export type ProofName = ConsumerName | "inventory";

export interface Proof extends NamedTests {
  readonly name: ProofName;
  /** Where the code begins that is proven: with all it imports, a change of it makes the proof stale. */
  readonly sources: readonly string[];
}

/** What runs a consumer is a part of what protects it: the claim with its stores and the receipt, or the attempt's transaction. */
const RUNNERS = {
  queue: ["packages/consumer/src/run.ts", "packages/shared-store/src/redis.ts", "packages/shared-store/src/postgres.ts"],
  database: ["packages/outbox-drainer/src/attempts.ts"],
} as const;

/** That the map is complete is proven of the composed apps. */
const INVENTORY: Proof = {
  name: "inventory",
  file: "packages/consumer-map/test/inventory.e2e.test.ts",
  suite: "the consumer map",
  tests: [
    "has every consumer, queue and route that is declared, and no other",
    "has what the worker apps run when they are started, and nothing that nobody runs",
  ],
  sources: ["apps/worker-general/src/main.ts", "apps/worker-mail/src/main.ts", "packages/consumer-map/src/inventory.ts"],
};

/** Every proof that the map names. */
export function listProofs(map: { readonly [name: string]: ConsumerMapEntry } = CONSUMER_MAP): Proof[] {
  const proofs = Object.entries(map).map(([name, { queue, source, evidence }]): Proof => {
    const runner: readonly string[] = queue === "database" ? RUNNERS.database : RUNNERS.queue;
    return { name: name as ConsumerName, ...evidence, sources: [source, ...runner] };
  });
  return [...proofs, INVENTORY];
}
