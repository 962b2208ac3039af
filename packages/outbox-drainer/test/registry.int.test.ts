import { describe, expect, onTestFinished, test } from "vitest";
import { listLiveProcesses } from "../src/stats.ts";
import { registerProcess, type ProcessEntry } from "../src/registry.ts";
import { openDatabase, silentLog } from "./support.ts";

const entry = (overrides: Partial<ProcessEntry> = {}): ProcessEntry => ({
  app: "worker-general",
  vote: "false",
  drains: true,
  queueBackend: "redis",
  queuePrefix: "{toolctrl}",
  queues: ["outbox.audit"],
  ...overrides,
});

describe("the register of live processes", () => {
  test("a process on another backend or prefix is refused, naming the one that runs", async () => {
    const database = await openDatabase();
    const first = await registerProcess(database.pool, entry(), silentLog);
    onTestFinished(() => first.close());
    for (const clash of [{ queueBackend: "postgres" }, { queuePrefix: "{other}" }]) {
      await expect(registerProcess(database.pool, entry(clash), silentLog)).rejects.toMatchObject({
        code: "QUEUE.MISMATCH",
        message: expect.stringContaining("worker-general"),
      });
    }
  });

  test("of ten that start at once on two prefixes, all that stay are on one", async () => {
    const database = await openDatabase();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) =>
        registerProcess(database.pool, entry({ queuePrefix: index % 2 === 0 ? "{a}" : "{b}" }), silentLog),
      ),
    );
    const registered = results.filter((result) => result.status === "fulfilled").map((result) => result.value);
    onTestFinished(async () => void (await Promise.all(registered.map((process) => process.close()))));
    const { rows } = await database.pool.query(`SELECT DISTINCT "queuePrefix" FROM "OutboxDrainer"`);
    expect(rows).toHaveLength(1);
    expect(registered).toHaveLength(5);
  });

  test("a process that left, or ran out, clashes with nobody", async () => {
    const database = await openDatabase();
    const left = await registerProcess(database.pool, entry(), silentLog);
    await left.close();
    const dead = await registerProcess(database.pool, entry({ queuePrefix: "{b}" }), silentLog);
    onTestFinished(() => dead.close());
    await database.pool.query(`UPDATE "OutboxDrainer" SET "aliveUntil" = clock_timestamp() - interval '1 second'`);
    const next = await registerProcess(database.pool, entry({ queuePrefix: "{c}" }), silentLog);
    onTestFinished(() => next.close());
    const { rows } = await database.pool.query<{ queuePrefix: string }>(
      `SELECT "queuePrefix" FROM "OutboxDrainer" WHERE "aliveUntil" > clock_timestamp()`,
    );
    expect(rows).toEqual([{ queuePrefix: "{c}" }]);
  });

  test("it tells which consumers each process runs; where it cannot yet, everything else is told", async () => {
    const database = await openDatabase();
    const consumersOfLive = async () => (await listLiveProcesses(database.pool)).map(({ queues, consumers }) => ({ queues, consumers }));
    const first = await registerProcess(database.pool, entry({ consumers: ["audit-append"] }), silentLog);
    expect(await consumersOfLive()).toEqual([{ queues: ["outbox.audit"], consumers: ["audit-append"] }]);
    await first.close();
    await database.pool.query(`ALTER TABLE "OutboxDrainer" DROP COLUMN "consumers"`);
    const second = await registerProcess(database.pool, entry({ consumers: ["audit-append"] }), silentLog);
    onTestFinished(() => second.close());
    expect(await consumersOfLive()).toEqual([{ queues: ["outbox.audit"], consumers: null }]);
  });
});
