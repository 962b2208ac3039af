// Measures the pull claim and counts its buffers over growing backlogs: `node --conditions=source scripts/explain-pull-claim.ts [largest]`.
import { randomUUID } from "node:crypto";
import { createTemplate } from "@toolctrl/testkit/template-db";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import pg from "pg";
import { claimHead, CLAIM_HEAD_SQL, type HeadCursor } from "../src/pull/claim-head.ts";

const LARGEST = Number(process.argv[2] ?? 1_000_000);
const server = await startPostgres({ settings: { shared_buffers: "512MB" } });
const client = new pg.Client({ connectionString: server.url });
await client.connect();
try {
  const template = await createTemplate(server.url);
  const rows: Record<string, unknown>[] = [];
  for (const shape of shapes()) rows.push(await measure(template, shape));
  console.table(rows);
} finally {
  await client.end();
  await server.close();
}

interface Shape {
  name: string;
  fill: string[];
}

function shapes(): Shape[] {
  const insert = (from: string): string =>
    `INSERT INTO "OutboxEvent" ("id", "tenantId", "eventType", "payload", "recordKey", "scheduledAt") ${from}`;
  const plain = (n: number, age = "1 hour"): string =>
    insert(
      `SELECT gen_random_uuid(), 't' || (n % 50), 'record.lead.updated', '{}', 'Lead/' || n, clock_timestamp() - interval '${age}' FROM generate_series(1, ${n}) n`,
    );
  const hot = (n: number): string =>
    insert(
      `SELECT gen_random_uuid(), 'hot', 'record.lead.updated', '{}', 'Lead/hot', clock_timestamp() - interval '2 hours' FROM generate_series(1, ${n}) n`,
    );
  const beside = insert(
    `SELECT gen_random_uuid(), 'hot', 'record.lead.updated', '{}', 'Lead/' || n, clock_timestamp() - interval '1 hour' FROM generate_series(1, 1000) n`,
  );
  const flight = (key: string): string =>
    `UPDATE "OutboxEvent" e SET "status" = 'PROCESSING', "claimMode" = 'pull', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() + interval '1 hour'
     WHERE e."position" IN (SELECT min("position") FROM "OutboxEvent" WHERE "recordKey" LIKE '${key}' GROUP BY "tenantId", "recordKey")`;
  return [
    { name: "empty", fill: [] },
    { name: "1,000 heads", fill: [beside] },
    { name: "10,000 pending", fill: [plain(10_000)] },
    { name: "100,000 pending", fill: [plain(100_000)] },
    { name: `${LARGEST} pending`, fill: [plain(LARGEST)] },
    { name: "hot 100,000 waiting", fill: [hot(100_000), beside] },
    { name: "hot, in flight", fill: [hot(100_000), beside, flight("Lead/hot")] },
    {
      name: "1,000 heads in flight, 100 behind each",
      fill: [
        insert(
          `SELECT gen_random_uuid(), 'hot', 'record.lead.updated', '{}', 'Aaa/' || (n % 1000), clock_timestamp() - interval '2 hours' FROM generate_series(1, 100000) n`,
        ),
        beside,
        flight("Aaa/%"),
      ],
    },
    {
      name: "1,000 heads in backoff, 100 behind each",
      fill: [
        insert(
          `SELECT gen_random_uuid(), 'hot', 'record.lead.updated', '{}', 'Aaa/' || (n % 1000), clock_timestamp() - interval '2 hours' FROM generate_series(1, 100000) n`,
        ),
        beside,
        `UPDATE "OutboxEvent" e SET "scheduledAt" = clock_timestamp() + interval '1 hour'
         WHERE e."position" IN (SELECT min("position") FROM "OutboxEvent" WHERE "recordKey" LIKE 'Aaa/%' GROUP BY "tenantId", "recordKey")`,
      ],
    },
    {
      name: "hot 100,000, + 500,000 DONE",
      fill: [
        hot(100_000),
        beside,
        flight("Lead/hot"),
        insert(
          `SELECT gen_random_uuid(), 'hot', 'record.lead.updated', '{}', 'Lead/' || n, clock_timestamp() FROM generate_series(1, 500000) n`,
        ),
        `UPDATE "OutboxEvent" SET "status" = 'DONE', "blocksLine" = false, "processedAt" = clock_timestamp() WHERE "scheduledAt" > clock_timestamp() - interval '10 minutes'`,
      ],
    },
  ];
}

async function measure(template: string, shape: Shape): Promise<Record<string, unknown>> {
  const name = `shape_${randomUUID().slice(0, 8)}`;
  await client.query(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const db = new pg.Client({ connectionString: url.href });
  await db.connect();
  try {
    await db.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
    const result: Record<string, unknown> = { shape: shape.name };
    for (const statement of shape.fill) await db.query(statement);
    for (const analyzed of [false, true]) {
      if (analyzed) await db.query(`VACUUM ANALYZE "OutboxEvent"`);
      let cursor: HeadCursor = { tenant: "", key: null };
      const keys: Record<string, string> = {};
      const times: number[] = [];
      let claimed = 0;
      let tries = 0;
      for (let turn = 0; turn < 200; turn += 1) {
        const started = performance.now();
        const claim = await claimHead(db, {
          epoch: 1n,
          leaseMs: 60_000,
          lockToken: randomUUID(),
          afterTenant: cursor.tenant,
          afterKeys: keys,
        });
        times.push(performance.now() - started);
        tries += 1;
        if (claim.kind === "closed") throw new Error("closed");
        cursor = claim.cursor;
        if (cursor.key !== null) keys[cursor.tenant] = cursor.key;
        if (claim.kind === "none" && !claim.more) break;
        if (claim.kind === "claimed") claimed += 1;
      }
      times.sort((a, b) => a - b);
      const { rows } = await db.query<{
        "QUERY PLAN": [{ Plan: Record<string, number>; "Execution Time": number; "Planning Time": number }];
      }>(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${CLAIM_HEAD_SQL}`, [
        1n,
        60_000,
        randomUUID(),
        cursor.tenant,
        65536,
        JSON.stringify(keys),
      ]);
      const plan = rows[0]?.["QUERY PLAN"][0];
      const tag = analyzed ? "a" : "raw";
      Object.assign(result, {
        [`claimed ${tag}`]: `${claimed}/${tries}`,
        [`p50 ${tag}`]: times[times.length >> 1]?.toFixed(2),
        [`p95 ${tag}`]: times[Math.floor(times.length * 0.95)]?.toFixed(2),
        [`exec ${tag}`]: plan?.["Execution Time"],
        [`plan ${tag}`]: plan?.["Planning Time"],
        [`buf ${tag}`]: plan?.Plan["Shared Hit Blocks"],
      });
    }
    return result;
  } finally {
    await db.end();
    await client.query(`DROP DATABASE ${name} WITH (FORCE)`);
  }
}
