import type { Database } from "@toolctrl/db/client";
import { createLogger, type Logger } from "@toolctrl/runtime/logger";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { registerProcess } from "../../src/registry.ts";
import { createConditionCheck, createDrainerSwitch, type ConditionAnswer, type Drainer, type Shadow } from "../../src/switch.ts";
import { openDatabase, silentLog } from "../support.ts";
import { leave, modeOf, seedClaim, seedProcess } from "./support.ts";

const GREEN: ConditionAnswer = { state: "green", reasons: [] };

interface Lines {
  readonly log: Logger;
  readonly all: string[];
}

function logLines(): Lines {
  const all: string[] = [];
  return {
    all,
    log: createLogger({
      app: "test",
      level: "info",
      destination: { write: (line: string) => void all.push((JSON.parse(line) as { msg: string }).msg) },
    }),
  };
}

interface Options {
  readonly vote?: "false" | "shadow" | "true";
  readonly condition?: () => ConditionAnswer;
  readonly shadow?: Shadow;
  /** How a drainer ends when it is told to; at once unless said otherwise. */
  readonly closeDrainer?: (graceMs: number) => Promise<void>;
}

/** A process with its entry and its switch; the drainers only say what they are told. */
async function processOn(database: Database, options: Options = {}) {
  const { pool } = database;
  const told: string[] = [];
  const { log, all } = logLines();
  const metrics = createMetrics({ processMetrics: false });
  const checkConditions = createConditionCheck([{ name: "test", check: async () => options.condition?.() ?? GREEN }]);
  const entry = { app: "worker-general", drains: true, queueBackend: "redis", queuePrefix: "{toolctrl}", queues: [] };
  const { blockers } = await checkConditions();
  const registered = await registerProcess(pool, { ...entry, vote: options.vote ?? "true", blockers }, silentLog);
  onTestFinished(() => registered.close());
  const drainer = (mode: string) => (): Drainer => ({
    start: () => void told.push(`start ${mode}`),
    wake: () => void told.push(`wake ${mode}`),
    close: (graceMs) => (told.push(`close ${mode}`), options.closeDrainer?.(graceMs) ?? Promise.resolve()),
    letGo: () => void told.push("let go"),
  });
  const drainers = createDrainerSwitch({
    db: pool,
    drainers: { batch: drainer("batch"), pull: drainer("pull") },
    checkConditions,
    registered,
    shadow: options.shadow ?? null,
    settings: { intervalMs: 20, switchingMs: 10, leaveMs: 30 },
    metrics,
    log,
  });
  const running = async (): Promise<string[]> =>
    [...(await metrics.text()).matchAll(/^drainer_mode\{mode="(\w+)"\} 1$/gm)].map(([, mode]) => mode ?? "");
  return { drainers, told, lines: all, running, registered };
}

describe("a process that votes for pull workers, with nothing against them", () => {
  test("moves the row and runs them, without having run anything else", async () => {
    const database = await openDatabase();
    const { drainers, told, running, lines } = await processOn(database);
    await drainers.tick();
    expect(await modeOf(database.pool)).toBe("pull@3");
    expect(told).toEqual(["start pull"]);
    expect(await running()).toEqual(["pull"]);
    expect(drainers.details()).toMatchObject({ drainer: { running: "pull", mode: "pull", whyNotPull: [], blockers: [] } });
    expect(lines).toEqual([expect.stringContaining("are to change to pull"), "the drainer is pull now", "pull workers are on"]);
  });

  test("stops them when another one votes against, and starts them again when that one is gone", async () => {
    const database = await openDatabase();
    const { drainers, told, running } = await processOn(database);
    await drainers.tick();
    const other = await seedProcess(database.pool, { vote: "false", pid: 7 });
    await drainers.tick();
    expect(await modeOf(database.pool)).toBe("batch@5");
    expect(await running()).toEqual(["batch"]);
    expect(drainers.details()).toMatchObject({ drainer: { running: "batch", whyNotPull: ["OUTBOX_PULL_WORKER=false (other there:7)"] } });
    await leave(database.pool, other);
    await drainers.tick();
    expect(told).toEqual(["start pull", "close pull", "start batch", "close batch", "start pull"]);
  });

  test("runs neither while a live claim of before is waited for, and says for what", async () => {
    const database = await openDatabase();
    const claim = await seedClaim(database.pool, "batch", 60);
    const { drainers, told, running } = await processOn(database);
    await drainers.tick();
    expect(await modeOf(database.pool)).toBe("batch>pull@2");
    expect([told, await running()]).toEqual([[], []]);
    expect(drainers.details()).toMatchObject({ drainer: { running: null, waitingFor: { claims: 1, until: expect.any(Date) } } });
    await database.pool.query(`UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "id" = $1`, [claim]);
    await drainers.tick();
    expect([told, await running()]).toEqual([["start pull"], ["pull"]]);
  });

  test("goes back to the dispatcher when its own condition turns red, which is entered where the others see it", async () => {
    const database = await openDatabase();
    let answer = GREEN;
    const { drainers, running } = await processOn(database, { condition: () => answer });
    await drainers.tick();
    answer = { state: "red", reasons: [{ why: "expected plugin-fanout to be proven, got no evidence", fix: "run its tests" }] };
    await drainers.tick();
    expect(await running()).toEqual(["batch"]);
    const { rows } = await database.pool.query(`SELECT "blockers" FROM "OutboxDrainer"`);
    expect(rows).toEqual([{ blockers: ["expected plugin-fanout to be proven, got no evidence: run its tests"] }]);
  });

  test("a condition that cannot be asked stays as it was; one that never could is red; an unknown one is said and holds nothing", async () => {
    const database = await openDatabase();
    let answer = (): ConditionAnswer => GREEN;
    const first = await processOn(database, { condition: () => answer() });
    await first.drainers.tick();
    answer = () => {
      throw new Error("away");
    };
    await first.drainers.tick();
    expect(await first.running()).toEqual(["pull"]);
    await first.registered.close();
    const second = await processOn(database, { condition: () => answer() });
    await second.drainers.tick();
    expect(second.drainers.details()).toMatchObject({ drainer: { blockers: ["test could not be checked: away"], mode: "batch" } });
    answer = () => ({ state: "unknown", reasons: [{ why: "CONFIG is forbidden", fix: "look" }] });
    await second.drainers.tick();
    expect(second.drainers.details()).toMatchObject({ drainer: { mode: "pull", notes: ["CONFIG is forbidden: look"] } });
    expect(second.lines.at(-1)).toBe("pull workers are on, though CONFIG is forbidden: look");
  });

  test("a drainer that does not end in time no longer holds its claims", async () => {
    const database = await openDatabase();
    const closeDrainer = (graceMs: number): Promise<void> => Promise.reject(new Error(`still busy after ${graceMs} ms`));
    const { drainers, told } = await processOn(database, { closeDrainer });
    await drainers.tick();
    await seedProcess(database.pool, { vote: "false" });
    await drainers.tick();
    await waitFor(() => told.includes("let go"));
    expect(told.toSorted()).toEqual(["close pull", "let go", "start batch", "start pull"]);
  });
});

describe("a process that votes against pull workers", () => {
  test("runs the dispatcher, and names every reason in the log once", async () => {
    const database = await openDatabase();
    const red = (): ConditionAnswer => ({ state: "red", reasons: [{ why: "no proof", fix: "test it" }] });
    const { drainers, told, lines, running } = await processOn(database, { vote: "false", condition: red });
    for (let tick = 0; tick < 3; tick += 1) await drainers.tick();
    expect(await modeOf(database.pool)).toBe("batch@1");
    expect([told, await running()]).toEqual([["start batch"], ["batch"]]);
    expect(lines).toEqual([
      expect.stringMatching(/^pull workers are off: OUTBOX_PULL_WORKER=false \(worker-general .+\); no proof: test it/),
    ]);
  });

  test("runs the pull workers that another one's row names, until the row is moved", async () => {
    const database = await openDatabase();
    await database.pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
    const { drainers, running } = await processOn(database, { vote: "false" });
    await drainers.tick();
    expect(await running()).toEqual(["batch"]);
    expect(await modeOf(database.pool)).toBe("batch@3");
  });

  test("goes on with what it runs while the database does not answer, and says so once", async () => {
    const database = await openDatabase();
    const { drainers, told, lines } = await processOn(database, { vote: "false" });
    await drainers.tick();
    await database.pool.query(`ALTER TABLE "OutboxMode" RENAME TO "Gone"`);
    drainers.start();
    await waitFor(() => lines.includes("the drainer switch could not look at the mode"));
    expect(drainers.details()).toMatchObject({ drainer: { running: "batch", error: expect.stringContaining("OutboxMode") } });
    await database.pool.query(`ALTER TABLE "Gone" RENAME TO "OutboxMode"`);
    await waitFor(() => !("error" in (drainers.details()["drainer"] as object)));
    expect(lines.filter((line) => line.includes("could not look"))).toHaveLength(1);
    await drainers.close(1000);
    expect(told).toEqual(["start batch", "close batch"]);
  });

  test("on a database from before record keys and blockers, the dispatcher runs and nothing fails", async () => {
    const database = await openDatabase();
    await database.pool.query(
      `DROP TRIGGER "OutboxEvent_recordKey" ON "OutboxEvent"; ALTER TABLE "OutboxEvent" DROP COLUMN "recordKey"; ALTER TABLE "OutboxDrainer" DROP COLUMN "blockers"`,
    );
    const { drainers, running, lines } = await processOn(database);
    await drainers.tick();
    expect(await running()).toEqual(["batch"]);
    expect(lines).toEqual([expect.stringContaining("has not said whether it can run pull workers")]);
  });
});

test("a process that shadows compares while the dispatcher runs, beside it", async () => {
  const database = await openDatabase();
  let compared = 0;
  const { drainers, told } = await processOn(database, { vote: "shadow", shadow: { compare: async () => void (compared += 1) } });
  await drainers.tick();
  expect([compared, told]).toEqual([1, ["start batch"]]);
});

test("wakes reach the drainer that runs, and none after the end", async () => {
  const database = await openDatabase();
  const { drainers, told } = await processOn(database, { vote: "false" });
  drainers.wake();
  await drainers.tick();
  drainers.wake();
  await drainers.close(1000);
  drainers.wake();
  await drainers.tick();
  expect(told).toEqual(["start batch", "wake batch", "close batch"]);
});

test("twelve processes that start and tick at once end in one mode that all of them run, however they vote", async () => {
  const database = await openDatabase();
  for (const vote of ["true", "false"] as const) {
    const all = await Promise.all(Array.from({ length: 12 }, (_, n) => processOn(database, { vote: n === 5 ? vote : "true" })));
    await Promise.all(all.map(({ drainers }) => drainers.tick()));
    // Some looked while another one was between the two steps.
    await Promise.all(all.map(({ drainers }) => drainers.tick()));
    const expected = vote === "true" ? "pull" : "batch";
    expect((await modeOf(database.pool)).split("@")[0]).toBe(expected);
    expect(await Promise.all(all.map(({ running }) => running()))).toEqual(all.map(() => [expected]));
    await Promise.all(all.map(({ registered }) => registered.close()));
  }
});

test("the event of a claim is never touched by the switch itself", async () => {
  const database = await openDatabase();
  await seedClaim(database.pool, "batch", 60);
  const image = async (): Promise<unknown> => (await database.pool.query(`SELECT * FROM "OutboxEvent"`)).rows;
  const before = await image();
  const { drainers } = await processOn(database);
  for (let tick = 0; tick < 3; tick += 1) await drainers.tick();
  expect(await image()).toEqual(before);
});
