import type { Database } from "@toolctrl/db/client";
import type { EffectKind, Intent, Observed } from "./effect-kinds.ts";
import type { Sinks } from "./sinks.ts";

/** What the last step of each sample workflow leaves in its row, by the key that stands there. */
const FINISHED_RUNS = `SELECT coalesce("data" ->> 'key', "data" ->> 'name', "data" ->> 'title') AS "text" FROM "Row"
  WHERE ("table" = 'inquiry' AND "data" ->> 'state' = 'accepted') OR ("table" = 'purchase' AND "data" ->> 'told' = 'paid') OR ("table" = 'digest' AND "data" -> 'sent' = 'true')`;

const KEY = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** The ledger of a run. */
export async function readIntents(database: Database, runId: string): Promise<Intent[]> {
  const { rows } = await database.pool.query<{ key: string; kind: EffectKind; expected: number }>(
    `SELECT key, kind, expected FROM sample.intent WHERE "runId" = $1`,
    [runId],
  );
  return rows;
}

/**
 * Counts effects by key where they happened: in the sinks and in the tables, never in the product's own counters. A raw repeat that the
 * product recorded as "outcome unknown" (same Message-ID, same webhook-id) is one effect; any other repeat is two.
 */
export async function observe(database: Database, sinks: Sinks, runId: string): Promise<Observed> {
  const unknowns = await readUnknowns(database, runId);
  const rows = async (query: string): Promise<Map<string, number>> => countRows(await textsOf(database, query));
  return {
    "mail-render": await rows(`SELECT "subject" AS "text" FROM "EmailMessage"`),
    "email-send": countEffects(sinks.mails(), unknowns),
    "webhook-deliver": countEffects(sinks.webhooks(), unknowns),
    "marketing-sync": countEffects(sinks.contacts(), unknowns),
    "notification-create": await rows(`SELECT "title" AS "text" FROM "Notification"`),
    "audit-append": await rows(`SELECT "entry"::text AS "text" FROM "AuditEntry"`),
    // The title alone has the key: a thrown away draft leaves a tombstone without one.
    "search-index": await rows(`SELECT "title" AS "text" FROM "SearchDocument" WHERE "deletedAt" IS NULL`),
    "rag-index": await rows(`SELECT "title" AS "text" FROM "RagDocument" WHERE "deletedAt" IS NULL`),
    "ai-cost-record": await rows(`SELECT "model" AS "text" FROM "AiCostEntry"`),
    "form-route": await rows(`SELECT "email" AS "text" FROM "Lead" WHERE "sourceKey" IS NOT NULL`),
    "plugin-fanout": await rows(
      `SELECT e."payload"::text AS "text" FROM "OutboxIntent" i JOIN "OutboxEvent" e ON e."id" = i."eventId" WHERE i."consumer" = 'plugin-invoke'`,
    ),
    "plugin-invoke": add(countEffects(sinks.plugins(), unknowns), await rows(`SELECT key::text AS "text" FROM sample.plugin_note`)),
    "plugin-capability-count": await rows(`SELECT "capability" AS "text" FROM "PluginUsage", generate_series(1, "used")`),
    "workflow-trigger": await rows(FINISHED_RUNS),
    // What an account says of the order that was saved last.
    "field-sets": await rows(`SELECT "value" #>> '{}' AS "text" FROM "RowField" WHERE "field" = 'latestChildLabel'`),
    "opportunity-create": await rows(`SELECT "name" AS "text" FROM "Opportunity"`),
  };
}

/** Raw repeats the product owns up to, by Message-ID or webhook-id. */
async function readUnknowns(database: Database, runId: string): Promise<Map<string, number>> {
  const { rows } = await database.pool.query<{ externalId: string; unknowns: number }>(
    `SELECT i."externalId", i."unknowns" FROM "OutboxIntent" i JOIN "OutboxEvent" e ON e."id" = i."eventId" WHERE e."correlationId" = $1`,
    [runId],
  );
  return new Map(rows.map((row) => [row.externalId, row.unknowns]));
}

function countEffects(received: readonly { text: string; id: string }[], unknowns: ReadonlyMap<string, number>): Map<string, number> {
  const byKey = new Map<string, Map<string, number>>();
  for (const { text, id } of received) {
    for (const key of keysIn(text)) {
      const ids = byKey.get(key) ?? new Map<string, number>();
      ids.set(id, (ids.get(id) ?? 0) + 1);
      byKey.set(key, ids);
    }
  }
  const counts = new Map<string, number>();
  for (const [key, ids] of byKey) {
    let effects = 0;
    for (const [id, repeats] of ids) effects += Math.max(1, repeats - (unknowns.get(id) ?? 0));
    counts.set(key, effects);
  }
  return counts;
}

function countRows(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) for (const key of keysIn(text)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function add(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): Map<string, number> {
  const sum = new Map(a);
  for (const [key, count] of b) sum.set(key, (sum.get(key) ?? 0) + count);
  return sum;
}

/** The keys of a text, each once. Others stand beside them, of forms and records: the ledger does not know those. */
function keysIn(text: string): Set<string> {
  return new Set(text.match(KEY) ?? []);
}

async function textsOf(database: Database, query: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ text: string }>(query);
  return rows.map((row) => row.text);
}
