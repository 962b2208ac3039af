import type { Database } from "@toolctrl/db/client";
import type { Intent } from "./effect-kinds.ts";

export type PrismaTx = Parameters<Parameters<Database["prisma"]["$transaction"]>[0]>[0];

/** Whose traffic it is; `runId` is the correlation id of every event. */
export interface SampleScope {
  readonly database: Database;
  readonly runId: string;
  readonly tenantId: string;
}

/** Enters an intent in the ledger, in the transaction that has it. */
export async function writeIntent(tx: Pick<PrismaTx, "$executeRaw">, intent: Intent, scope: SampleScope): Promise<void> {
  await tx.$executeRaw`INSERT INTO sample.intent (key, "runId", "tenantId", kind, expected)
    VALUES (${intent.key}::uuid, ${scope.runId}::uuid, ${scope.tenantId}, ${intent.kind}, ${intent.expected}::int)`;
}
