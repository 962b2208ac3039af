import { createDatabase } from "@toolctrl/db/client";
import { createHeadClaimer, type HeadClaimer } from "@toolctrl/outbox-drainer/pull-claim";
import { holdHeads, insertBacklog, setMode, settleTables } from "../backlog.ts";
import type { BenchCase, Side } from "../measure.ts";
import type { Telemetry } from "../quiet.ts";
import type { BenchServers } from "../servers.ts";

/** Events that wait behind the hot record's head, for each claim of a run. */
const WAITING_PER_CLAIM = 50;

/** A tenant's claims one after the other; and the same beside one record of that tenant with very many events, whose head is in flight. */
export async function claimCase(servers: BenchServers, operations: number, telemetry: Telemetry): Promise<BenchCase> {
  const database = await createDatabase({ url: servers.databaseUrl, poolMax: 1, app: "bench" });
  const waiting = operations * WAITING_PER_CLAIM;
  const claimer = (): HeadClaimer => createHeadClaimer({ pool: database.pool, leaseMs: 3_600_000, ...telemetry });
  return {
    name: "claim",
    title: `pull claim beside a record with ${waiting} waiting events ÷ without it`,
    unit: "claims",
    operations,
    // Three times the time at most.
    target: 1 / 3,
    settings: { "other events": 2 * operations, tenants: 1, connections: 1 },
    baseline: claimSide(servers, operations, claimer, 0),
    product: claimSide(servers, operations, claimer, waiting),
    async close() {
      await setMode(servers.admin, "batch");
      await database.close();
    },
  };
}

function claimSide(servers: BenchServers, operations: number, createClaimer: () => HeadClaimer, waiting: number): Side {
  const { admin } = servers;
  let claimer = createClaimer();
  return {
    label: waiting === 0 ? "without a hot record" : "beside a hot record",
    async prepare() {
      await servers.emptyTables("OutboxEvent");
      await setMode(admin, "pull");
      if (waiting > 0) {
        await insertBacklog(admin, { events: waiting + 1, tenants: 1, records: 1, object: "Hot", age: "2 hours" });
        await holdHeads(admin, "Hot");
      }
      await insertBacklog(admin, { events: 2 * operations, tenants: 1, object: "Order", age: "1 hour" });
      await settleTables(admin);
      claimer = createClaimer();
    },
    async run() {
      for (let claimed = 0; claimed < operations; claimed += 1) {
        if ((await claimer.claim()) === null) throw new Error(`expected ${operations} claims, got ${claimed}`);
      }
    },
    async verify() {
      const { rows } = await admin.query<{ claimed: number }>(
        `SELECT count(*)::int AS claimed FROM "OutboxEvent" WHERE "status" = 'PROCESSING' AND "payload" ->> 'object' = 'Order'`,
      );
      if (rows[0]?.claimed !== operations) throw new Error(`expected ${operations} claimed events, got ${rows[0]?.claimed}`);
    },
  };
}
