import type { Database } from "@toolctrl/db/client";
import type { EffectKind } from "./effect-kinds.ts";

export type PrismaTx = Parameters<Parameters<Database["prisma"]["$transaction"]>[0]>[0];

/** Whose traffic it is; `runId` is the correlation id of every event. */
export interface SampleScope {
  readonly database: Database;
  readonly runId: string;
  readonly tenantId: string;
}

/** Enters intents in the ledger, in the transaction that has them: so many effects of each kind under the key. */
export async function writeIntents(
  tx: Pick<PrismaTx, "$executeRaw">,
  { runId, tenantId }: SampleScope,
  key: string,
  kinds: readonly EffectKind[],
  expected: number,
): Promise<void> {
  for (const kind of kinds) {
    await tx.$executeRaw`INSERT INTO sample.intent (key, kind, "runId", "tenantId", expected)
      VALUES (${key}::uuid, ${kind}, ${runId}::uuid, ${tenantId}, ${expected}::int)`;
  }
}
