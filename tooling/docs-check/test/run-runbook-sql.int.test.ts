import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createRouter } from "@toolctrl/event-router/router";
import { requeueEvents } from "@toolctrl/outbox-drainer/actions";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, expect, test } from "vitest";
import { codeBlocksOf } from "../src/code-blocks.ts";
import { listRunbooks, readText } from "../src/repository.ts";

const statements = listRunbooks().flatMap((path) =>
  codeBlocksOf(readText(path)).flatMap(({ language, code, line }) => (language === "sql" ? [{ path, line, sql: code }] : [])),
);
const isQuestion = ({ sql }: { sql: string }): boolean => /^SELECT (?!pg_terminate)/.test(sql);
const [requeue, ...otherWrites] = statements.filter((entry) => !isQuestion(entry) && entry.sql.startsWith("WITH finished"));
const [end, ...otherEnds] = statements.filter(({ sql }) => sql.startsWith("SELECT pg_terminate_backend"));

let database: Database;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  database = await createDatabase({ url, poolMax: 4, app: "test", wakeup: false });
});
afterAll(() => database.close());

/** An event that failed for good, as its life would have left it. */
async function fail(): Promise<string> {
  const event = { tenantId: "acme", type: "mail.message.send", payload: { to: "ann@example.com", subject: "Hello", text: "Hello" } };
  const { id } = await database.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'FAILED', "blocksLine" = false, "retries" = 7, "crashes" = 1, "lastErrorCode" = 'QUEUE.REJECTED', "lastError" = 'refused'
      WHERE "id" = $1::uuid`,
    [id],
  );
  return id;
}

async function readEvent(id: string): Promise<Record<string, unknown>> {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `SELECT "status", "blocksLine", "generation", "retries", "crashes", "processedAt", "lastErrorCode", "lastError", "effectEpoch", "replayConsumer",
            "scheduledAt" <= clock_timestamp() AS "due" FROM "OutboxEvent" WHERE "id" = $1::uuid`,
    [id],
  );
  return rows[0] ?? {};
}

async function readActions(id: string): Promise<Array<Record<string, unknown>>> {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `SELECT "actor", "action", "reason", "affected", "params" - 'before' AS "params",
            "params" -> 'before' -> 0 ->> 'from' AS "from", "params" -> 'before' -> 0 ->> 'lastErrorCode' AS "code"
       FROM "OutboxAction" WHERE "eventIds" = ARRAY[$1::uuid]`,
    [id],
  );
  return rows;
}

test("every statement of the runbooks is a question, the one that requeues, or the one that ends a session", () => {
  expect(statements.length).toBeGreaterThan(9);
  expect([requeue, end]).not.toContain(undefined);
  expect([...otherWrites, ...otherEnds]).toEqual([]);
  const questions = statements.filter(isQuestion);
  expect(questions).toHaveLength(statements.length - 2);
});

test.each(statements.filter(isQuestion))("$path:$line is answered, and changes nothing", async ({ sql }) => {
  const client = await database.pool.connect();
  try {
    await client.query("BEGIN READ ONLY");
    expect((await client.query(sql)).fields.length).toBeGreaterThan(1);
    await client.query("COMMIT");
  } finally {
    client.release(true);
  }
});

test("the emergency requeue leaves an event as the CLI does, with its audit row, and does nothing to one that is on its way", async () => {
  const [byHand, byCli] = [await fail(), await fail()];
  const sql = requeue?.sql ?? "";
  expect((await database.pool.query(sql.replace("<id>", byHand))).rows).toMatchObject([{ affected: 1 }]);
  await requeueEvents({ pool: database.pool, router: createRouter() }, { ids: [byCli], actor: "ann" });
  expect(await readEvent(byHand)).toEqual(await readEvent(byCli));
  expect(await readEvent(byHand)).toMatchObject({ status: "PENDING", generation: 1, due: true });
  const reason = "INC-1: the CLI could not be run";
  const recorded = { actor: "ann", action: "requeue", affected: 1, from: "FAILED", code: "QUEUE.REJECTED" };
  expect(await readActions(byHand)).toEqual([{ ...recorded, reason, params: { rawSql: true } }]);
  expect(await readActions(byCli)).toMatchObject([recorded]);
  expect((await database.pool.query(sql.replace("<id>", byHand))).rows).toEqual([]);
  expect(await readEvent(byHand)).toMatchObject({ status: "PENDING", generation: 1 });
  expect(await readActions(byHand)).toHaveLength(1);
});

test("the question for late receipts finds what is owed: of a first delivery, after a death that was requeued, and of a replay", async () => {
  const late = await Promise.all([fail(), fail(), fail()]);
  const finished = await Promise.all([fail(), fail()]);
  const [half, requeued, replayed, sent, dead] = [...late, ...finished];
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'DONE', "lastErrorCode" = NULL, "lastError" = NULL, "processedAt" = clock_timestamp() - interval '3 days',
            "generation" = CASE WHEN "id" = $2::uuid THEN 1 ELSE 0 END, "effectEpoch" = CASE WHEN "id" = $3::uuid THEN 1 ELSE 0 END,
            "replayConsumer" = CASE WHEN "id" = $3::uuid THEN 'email-send' END
      WHERE "id" = ANY($1::uuid[])`,
    [[...late, ...finished], requeued, replayed],
  );
  const receipts: Array<[eventId: string, consumer: string, outcome: string]> = [
    [half, "mail-render", "done"],
    [requeued, "email-send", "dead"],
    [replayed, "email-send", "done"],
    [sent, "email-send", "done"],
    [dead, "email-send", "dead"],
  ];
  for (const receipt of receipts)
    await database.pool.query(
      `INSERT INTO "OutboxReceipt" ("tenantId", "eventId", "consumer", "outcome") VALUES ('acme', $1::uuid, $2, $3)`,
      receipt,
    );
  const question = statements.find(({ path }) => path.endsWith("outbox-receipts-late.md"))?.sql ?? "";
  const found = (await database.pool.query<{ id: string }>(question)).rows.map(({ id }) => id);
  expect(found.toSorted()).toEqual(late.toSorted());
});

test("a session is ended by the pid that the runbook has somebody look up", async () => {
  const forgotten = await database.pool.connect();
  const ended = new Promise<Error>((resolve) => forgotten.on("error", resolve));
  const [own] = (await forgotten.query<{ pid: number }>(`SELECT pg_backend_pid() AS "pid"`)).rows;
  await forgotten.query("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
  const lookUp = statements.find(({ sql }) => sql.includes("backend_xmin"))?.sql ?? "";
  expect((await database.pool.query(lookUp)).rows).toContainEqual(expect.objectContaining({ pid: own?.pid, state: "idle in transaction" }));
  await database.pool.query((end?.sql ?? "").replace("<pid>", String(own?.pid)));
  expect(await ended).toBeInstanceOf(Error);
  forgotten.release(true);
});
