import type { Queryable } from "@toolctrl/db/sql";
import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import type { RetryHorizonSettings } from "@toolctrl/outbox-receiver/horizon";
import type { QueueBackend } from "@toolctrl/queue/port";
import { createMapProver, type MapProof } from "../proof.ts";
import { createEvictionCondition } from "./eviction-condition.ts";
import { createMapCondition } from "./map-condition.ts";
import { createPersistenceCondition } from "./persistence-condition.ts";
import { createRecordKeyCondition } from "./record-key-condition.ts";
import { createResultTtlCondition } from "./result-ttl-condition.ts";
import { createSchemaCondition } from "./schema-condition.ts";

/** What the conditions are asked of: an installation, and the settings of the process that asks. */
export interface GateDeps {
  readonly db: Queryable;
  readonly backend: Pick<QueueBackend, "evictionPolicy" | "persistence">;
  readonly horizon: RetryHorizonSettings;
  /** Whether the process asks for pull workers. Where it does not, its vote is objection enough, and its code is not compared with the map. */
  readonly votes: boolean;
}

/** What has to hold before pull workers may drain an installation. */
export type RolloutGate = (deps: GateDeps) => readonly StartCondition[];

/**
 * The one list of conditions: the switch asks it in every process that drains, `toolctrl-cli outbox gate` asks it for a person. Whether
 * the other processes vote for pull workers is the switch's own matter.
 */
export function createRolloutGate(options: { readonly proveMap?: () => Promise<MapProof> } = {}): RolloutGate {
  const proveMap = options.proveMap ?? createMapProver();
  return ({ db, backend, horizon, votes }) => [
    ...(votes ? [createMapCondition(proveMap)] : []),
    createRecordKeyCondition(db),
    createSchemaCondition(db),
    createResultTtlCondition(horizon),
    createEvictionCondition(backend),
    createPersistenceCondition(backend),
  ];
}
