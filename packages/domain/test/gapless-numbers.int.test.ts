import type { EffectEvent } from "@toolctrl/db/after-save-effect";
import type { Database } from "@toolctrl/db/client";
import { expect, test } from "vitest";
import { afterSaveEffects } from "../src/after-save-effects.ts";
import { convertLead } from "../src/leads.ts";
import { deliver, openDatabase, publishedEvents, rowsOf } from "./support.ts";

const CONNECTIONS = 8;
const CONVERSIONS = 1_000;
const LEADS = 800;
const TENANTS = ["tenant-a", "tenant-b"];
const IN_TX = { maxWait: 60_000, timeout: 60_000 };

/** The same in every run: which attempts are rolled back decides what is tested. */
function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Runs the jobs over as many workers as there are connections. */
async function overConnections<T>(jobs: readonly T[], run: (job: T) => Promise<void>): Promise<void> {
  const queue = jobs.values();
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      for (const job of queue) await run(job);
    }),
  );
}

async function seedLeads(db: Database): Promise<Array<{ leadId: string; tenantId: string }>> {
  const { rows } = await db.pool.query<{ leadId: string; tenantId: string }>(
    `INSERT INTO "Lead" ("id", "tenantId", "name", "email", "companyName")
     SELECT gen_random_uuid(), ($1::text[])[1 + n % 2], 'Lead ' || n, 'lead-' || n % 300 || '@example.com', 'Company ' || n % 50
     FROM generate_series(1, $2::int) n RETURNING "id" AS "leadId", "tenantId"`,
    [TENANTS, LEADS],
  );
  return rows;
}

test("1,000 conversions, 20 % of them duplicates, with rollbacks everywhere: each opportunity once, numbers 1..n", async () => {
  const db = await openDatabase(CONNECTIONS);
  const random = seededRandom(20_261_201);
  const leads = await seedLeads(db);
  // The duplicates stand side by side, so that they meet.
  const conversions = leads.flatMap((key, n) => (n < CONVERSIONS - LEADS ? [key, key] : [key]));
  await overConnections(conversions, async (key) => {
    await db.prisma.$transaction((tx) => convertLead(tx, key), IN_TX);
  });
  const events = (await publishedEvents(db)).filter(({ type }) => type === "record.lead.converted");
  expect(events).toHaveLength(LEADS);

  // A fifth is delivered twice, and a quarter of all attempts dies after its effects, as one does that cannot commit.
  const effects = afterSaveEffects();
  const deliveries = [...events, ...events.slice(0, CONVERSIONS - LEADS)].toSorted(() => random() - 0.5);
  let rolledBack = 0;
  const attempt = async (event: EffectEvent): Promise<void> => {
    const dies = random() < 0.25;
    const die = (): Promise<void> => Promise.reject(new Error("died"));
    const outcome = deliver(db, effects, event, dies ? die : undefined);
    if (!dies) return outcome;
    await expect(outcome).rejects.toThrow("died");
    rolledBack += 1;
    return attempt(event);
  };
  await overConnections(deliveries, attempt);
  expect(rolledBack).toBeGreaterThan(100);

  const perTenant = `SELECT "tenantId", count(*)::int AS "n", count(DISTINCT "sourceLeadId")::int AS "leads", min("number")::int AS "first",
    max("number")::int AS "last", (SELECT c."value"::int FROM "TenantCounter" c WHERE c."tenantId" = o."tenantId") AS "drawn"
    FROM "Opportunity" o GROUP BY 1 ORDER BY 1`;
  const n = LEADS / 2;
  expect(await rowsOf(db, perTenant)).toEqual(TENANTS.map((tenantId) => ({ tenantId, n, leads: n, first: 1, last: n, drawn: n })));
}, 120_000);
