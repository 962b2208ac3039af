import type { Database } from "@toolctrl/db/client";
import type { EffectCounts } from "./effect-kinds.ts";

export type PrismaTx = Parameters<Parameters<Database["prisma"]["$transaction"]>[0]>[0];

/** Whose traffic it is; `runId` is the correlation id of every event. */
export interface SampleScope {
  readonly database: Database;
  readonly runId: string;
  readonly tenantId: string;
}

/** Enters intents in the ledger, in the transaction that has them: the effects that a key is to have, or with `never` the effects it must not have. */
export async function writeIntents(
  tx: Pick<PrismaTx, "$executeRaw">,
  { runId, tenantId }: SampleScope,
  key: string,
  effects: EffectCounts,
  { never = false }: { never?: boolean } = {},
): Promise<void> {
  for (const [kind, expected] of Object.entries(effects)) {
    await tx.$executeRaw`INSERT INTO sample.intent (key, kind, "runId", "tenantId", expected)
      VALUES (${key}::uuid, ${kind}, ${runId}::uuid, ${tenantId}, ${never ? 0 : expected}::int)`;
  }
}
