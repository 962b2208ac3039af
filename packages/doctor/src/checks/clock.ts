import { MAX_SKEW_MS, measureClockSkew } from "@toolctrl/queue/clock-skew";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Queryable } from "@toolctrl/db/sql";
import { fail, ok, type Check, type Finding } from "../check.ts";

const NOW = `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS "ms"`;

/** This machine's clock goes with the database's, by which leases, backoff and retention are reckoned. */
export function createDatabaseClockCheck(db: Queryable): Check {
  const serverClockMs = async (): Promise<number> => (await db.query<{ ms: number }>(NOW)).rows[0]?.ms ?? Number.NaN;
  return { name: "database clock", look: async () => judge(await measureClockSkew(serverClockMs), "the database's") };
}

/** And with the queue server's, by which delays are, and on PostgreSQL the locks of jobs. */
export function createQueueClockCheck(backend: Pick<QueueBackend, "clockSkewMs">): Check {
  return { name: "queue clock", look: async () => judge(await backend.clockSkewMs(), "the queue server's") };
}

function judge(skewMs: number, whose: string): Finding {
  const skew = `${Math.round(skewMs)} ms`;
  // Written so that NaN fails too.
  if (Math.abs(skewMs) <= MAX_SKEW_MS) return ok(`this machine's clock is ${skew} from ${whose}`);
  return fail(
    `expected this machine's clock within ${MAX_SKEW_MS} ms of ${whose}, got ${skew}`,
    "synchronise the clocks of both machines (chrony, systemd-timesyncd)",
  );
}
