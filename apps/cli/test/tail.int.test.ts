import { PassThrough } from "node:stream";
import { createDatabase, type Database } from "@toolctrl/db/client";
import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { Io } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";

let database: Database;

beforeAll(async () => {
  const { url } = await createTestDatabase();
  vi.stubEnv("DATABASE_URL", url);
  database = await createDatabase({ url, poolMax: 2, app: "test", wakeup: false });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await database.close();
});

function publish(tenantId: string, type = "billing.invoice.paid"): Promise<string> {
  return database.prisma.$transaction(async (tx) => (await publishOutboxEvent(tx, { tenantId, type, payload: {} })).id);
}

/** One look at what changed since an hour ago: the end that it is told has come already. */
async function tail(...args: string[]): Promise<string[]> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const io = { out, err, in: process.stdin, canAsk: false } as unknown as Io;
  expect(await runCli(["outbox", "tail", "--from", "1h", "--to", "0s", ...args], io)).toBe(0);
  return String(out.read() ?? "")
    .split("\n")
    .filter((line) => line !== "");
}

test("each state's changes are shown, oldest first, and none from before; a filter narrows them", async () => {
  const [done, failed, claimed, old] = [
    await publish("acme"),
    await publish("acme", "mail.message.sent"),
    await publish("acme"),
    await publish("acme"),
  ];
  const waiting = await publish("other");
  const { pool } = database;
  const ended = `"blocksLine" = false, "updatedAt" = clock_timestamp()`;
  await pool.query(`UPDATE "OutboxEvent" SET "status" = 'DONE', "processedAt" = clock_timestamp(), ${ended} WHERE "id" = $1`, [done]);
  await pool.query(`UPDATE "OutboxEvent" SET "status" = 'FAILED', "lastErrorCode" = 'QUEUE.REJECTED', ${ended} WHERE "id" = $1`, [failed]);
  await pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'PROCESSING', "lockToken" = gen_random_uuid(), "lockedUntil" = clock_timestamp() + interval '1 minute',
       "claimMode" = 'batch', "attempts" = 1, "updatedAt" = clock_timestamp() WHERE "id" = $1`,
    [claimed],
  );
  const ago = `clock_timestamp() - interval '2 hours'`;
  await pool.query(
    `UPDATE "OutboxEvent" SET "status" = 'DONE', "blocksLine" = false, "processedAt" = ${ago}, "updatedAt" = ${ago} WHERE "id" = $1`,
    [old],
  );
  const documents = (await tail("--json")).map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(documents.map(({ id, status }) => [id, status])).toEqual([
    [waiting, "PENDING"],
    [done, "DONE"],
    [failed, "FAILED"],
    [claimed, "PROCESSING"],
  ]);
  expect(documents[2]).toMatchObject({ eventType: "mail.message.sent", tenantId: "acme", retries: 0, lastErrorCode: "QUEUE.REJECTED" });
  expect(await tail("--status", "failed,cancelled")).toEqual([
    expect.stringMatching(
      new RegExp(`^\\d{4}-.+Z  FAILED      ${failed}  mail\\.message\\.sent  acme  attempts 0, retries 0  QUEUE\\.REJECTED$`),
    ),
  ]);
  expect(await tail("--tenant", "other", "--type", "billing")).toHaveLength(1);
  expect(await tail("--type", "audit")).toEqual([]);
});
