import { publishOutboxEvent } from "@toolctrl/db/outbox";
import { registerProcess } from "@toolctrl/outbox-drainer/registry";
import { createLogger } from "@toolctrl/runtime/logger";
import { expect, onTestFinished, test } from "vitest";
import { openE2eDatabase, openOnPostgres, whyNotQuiet } from "./workflow-on-postgres.ts";

const OTHER = {
  tenantId: "somebody",
  type: "mail.message.send",
  payload: { to: "ann@example.test", subject: "Hello", text: "Hello" },
} as const;

async function open() {
  const shared = await openE2eDatabase({ from: "the suite", url: null });
  onTestFinished(() => shared.close());
  return shared;
}

test("a database is used only while nobody drains it and no event of it is under way", async () => {
  const { database } = await open();
  const { pool, prisma } = database;
  expect(await whyNotQuiet(database)).toBeNull();

  const { id } = await prisma.$transaction((tx) => publishOutboxEvent(tx, OTHER));
  expect(await whyNotQuiet(database)).toMatch("with no event under way, got 1");
  await pool.query(`DELETE FROM "OutboxEvent" WHERE "id" = $1`, [id]);

  await pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull', "epoch" = "epoch" + 1`);
  expect(await whyNotQuiet(database)).toMatch("got the mode pull");

  const entry = { app: "worker-general", vote: "false", drains: true, queueBackend: "redis", queuePrefix: "{t}", queues: [] } as const;
  const process = await registerProcess(pool, entry, createLogger({ app: "test", level: "silent" }));
  expect(await whyNotQuiet(database)).toMatch("nobody drains, got worker-general on");
  await process.close();
});

test("what a rig leaves is what it found: no row of its tenant, no queue, and those of others as they were", async () => {
  const shared = await open();
  const { id } = await shared.database.prisma.$transaction((tx) => publishOutboxEvent(tx, OTHER));
  const rig = await openOnPostgres(shared);
  rig.start();
  await rig.publish("mail.message.send", OTHER.payload);
  expect(await rig.count("OutboxEvent")).toBe(1);
  expect(await rig.leave()).toEqual([]);
  const { rows } = await shared.database.pool.query(`SELECT "id", "tenantId", "status"::text AS "status" FROM "OutboxEvent"`);
  expect(rows).toEqual([{ id, tenantId: "somebody", status: "PENDING" }]);
});
