import { randomUUID } from "node:crypto";
import { MAX_INLINE_PAYLOAD_BYTES } from "@toolctrl/foundation/json";
import { CLAIM_HEAD_SQL, claimHead, type HeadCursor } from "@toolctrl/outbox-drainer/pull-claim";
import type pg from "pg";

export interface ExplainedClaim {
  /** Pages looked at, in memory or not. */
  readonly buffers: number;
  readonly executionMs: number;
}

const STATEMENTS = 20;
const LEASE_MS = 3_600_000;

interface Place {
  readonly epoch: bigint;
  readonly afterTenant: string;
  readonly afterKeys: Readonly<Record<string, string>>;
}

/** Statements of one worker from a cold start, each explained in a transaction that is rolled back, then made. */
export async function explainClaims(admin: pg.Pool): Promise<ExplainedClaim[]> {
  const { rows } = await admin.query<{ epoch: string }>(`SELECT "epoch" FROM "OutboxMode"`);
  const explained: ExplainedClaim[] = [];
  let place: Place = { epoch: BigInt(rows[0]?.epoch ?? 0), afterTenant: "", afterKeys: {} };
  while (explained.length < STATEMENTS) {
    explained.push(await explainOne(admin, place));
    const claim = await claimHead(admin, { ...place, leaseMs: LEASE_MS, lockToken: randomUUID() });
    if (claim.kind === "closed") throw new Error("expected the mode to be pull, it is another one");
    place = goOn(place, claim.cursor);
  }
  return explained;
}

function goOn(place: Place, { tenant, key }: HeadCursor): Place {
  return { ...place, afterTenant: tenant, afterKeys: key === null ? place.afterKeys : { ...place.afterKeys, [tenant]: key } };
}

interface Explained {
  readonly Plan: { readonly "Shared Hit Blocks": number; readonly "Shared Read Blocks": number };
  readonly "Execution Time": number;
}

async function explainOne(admin: pg.Pool, { epoch, afterTenant, afterKeys }: Place): Promise<ExplainedClaim> {
  const client = await admin.connect();
  try {
    await client.query("BEGIN");
    const { rows } = await client.query<{ "QUERY PLAN": [Explained] }>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${CLAIM_HEAD_SQL}`, [
      epoch,
      LEASE_MS,
      randomUUID(),
      afterTenant,
      MAX_INLINE_PAYLOAD_BYTES,
      JSON.stringify(afterKeys),
    ]);
    const [explained] = rows[0]?.["QUERY PLAN"] ?? [];
    if (explained === undefined) throw new Error("expected EXPLAIN to answer with a plan, got none");
    return {
      buffers: explained.Plan["Shared Hit Blocks"] + explained.Plan["Shared Read Blocks"],
      executionMs: explained["Execution Time"],
    };
  } finally {
    await client.query("ROLLBACK");
    client.release();
  }
}
