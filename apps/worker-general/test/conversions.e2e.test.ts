import type { Database } from "@toolctrl/db/client";
import { convertLead } from "@toolctrl/domain/leads";
import { randomFrom, seedOf, startHerd } from "@toolctrl/testkit/herd";
import { expect, test } from "vitest";
import { eventsOf, IN_TX, openPullRig, untilDone } from "./pull-support.ts";

const CONVERSIONS = 1_000;
const LEADS = 800;
const CONNECTIONS = 8;
const TENANTS = ["tenant-a", "tenant-b"];

interface LeadKey {
  readonly leadId: string;
  readonly tenantId: string;
}

async function seedLeads({ pool }: Database, count: number): Promise<LeadKey[]> {
  const { rows } = await pool.query<LeadKey>(
    `INSERT INTO "Lead" ("id", "tenantId", "name", "email", "companyName")
     SELECT gen_random_uuid(), ($1::text[])[1 + n % 2], 'Lead ' || n, 'lead-' || n % 300 || '@example.com', 'Company ' || n % 50
     FROM generate_series(1, $2::int) n RETURNING "id" AS "leadId", "tenantId"`,
    [TENANTS, count],
  );
  return rows;
}

const convert = (database: Database, key: LeadKey) => database.prisma.$transaction((tx) => convertLead(tx, key), IN_TX);

async function convertAll(database: Database, keys: readonly LeadKey[]): Promise<void> {
  const queue = keys.values();
  const converter = async (): Promise<void> => {
    for (const key of queue) await convert(database, key);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, converter));
}

/** For each tenant how many opportunities of how many leads there are, from which number to which, and the last number drawn. */
async function opportunities({ pool }: Database): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `SELECT "tenantId", count(*)::int AS "n", count(DISTINCT "sourceLeadId")::int AS "leads", min("number")::int AS "first",
       max("number")::int AS "last", (SELECT c."value"::int FROM "TenantCounter" c WHERE c."tenantId" = o."tenantId") AS "drawn"
     FROM "Opportunity" o GROUP BY 1 ORDER BY 1`,
  );
  return rows;
}

test(
  "1,000 conversions, 20 % of them duplicates, over two processes of which one after the other is killed: each opportunity once, numbers 1..n",
  { timeout: 240_000 },
  async () => {
    const seed = seedOf("CONVERSIONS_SEED");
    const random = randomFrom(seed);
    const { database, start } = await openPullRig(CONNECTIONS + 2);
    const leads = await seedLeads(database, LEADS);
    // The duplicates stand side by side, so that they meet.
    const conversions = leads.flatMap((key, n) => (n < CONVERSIONS - LEADS ? [key, key] : [key]));
    const herd = await startHerd({ size: 2, start: () => start(), killEveryMs: 500, random });
    await convertAll(database, conversions);
    await untilDone(database, null, 120_000);
    const exits = await herd.stop();
    const n = LEADS / TENANTS.length;
    expect(await opportunities(database), `seed ${seed}`).toEqual(
      TENANTS.map((tenantId) => ({ tenantId, n, leads: n, first: 1, last: n, drawn: n })),
    );
    const events = await eventsOf(database);
    expect(events).toHaveLength(LEADS);
    expect(exits).toEqual(exits.map(() => ({ code: 0, signal: null })));
    const crashed = events.filter(({ crashes }) => crashes > 0).length;
    expect(crashed, "events whose process was killed").toBeGreaterThan(0);
    process.stdout.write(`${CONVERSIONS} conversions: ${herd.kills()} kills, ${crashed} events lost a lease\n`);
  },
);

test("20 concurrent conversions of one lead, drained by two processes: one event, one opportunity, number 1", async () => {
  const { database, start } = await openPullRig(22);
  const workers = await Promise.all([start(), start()]);
  const [lead] = await seedLeads(database, 1);
  const conversions = await Promise.all(Array.from({ length: 20 }, () => convert(database, lead as LeadKey)));
  expect(new Set(conversions.map(({ eventId, contactId, companyId }) => `${eventId} ${contactId} ${companyId}`)).size).toBe(1);
  await untilDone(database);
  // How often it was claimed is open: an attempt that meets a conversion's lock is put off, and costs no retry.
  expect(await eventsOf(database)).toMatchObject([{ status: "DONE", retries: 0, crashes: 0 }]);
  expect(await opportunities(database)).toEqual([{ tenantId: lead?.tenantId, n: 1, leads: 1, first: 1, last: 1, drawn: 1 }]);
  for (const worker of workers) worker.kill("SIGTERM");
  expect(await Promise.all(workers.map((worker) => worker.waitForExit()))).toEqual(workers.map(() => ({ code: 0, signal: null })));
});
