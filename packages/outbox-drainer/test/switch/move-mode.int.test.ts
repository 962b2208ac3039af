import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { claimHead } from "../../src/pull/claim-head.ts";
import { claimDueEvents } from "../../src/sql/claim-due-events.ts";
import { isUnsettled, moveMode, readModeState } from "../../src/switch/move-mode.ts";
import { insertEvents, letTimePass, openDatabase } from "../support.ts";
import { leave, modeOf, seedClaim, seedProcess } from "./support.ts";

type Pool = Awaited<ReturnType<typeof openDatabase>>["pool"];

const step = async (pool: Pool): Promise<"desired" | "mode" | null> => moveMode(pool, await readModeState(pool));

async function claims(pool: Pool, epoch: bigint): Promise<{ batch: number; pull: number }> {
  const base = { epoch, leaseMs: 60_000, lockToken: randomUUID(), afterTenant: "" };
  const batch = await claimDueEvents(pool, { ...base, limit: 1 });
  const pull = await claimHead(pool, { ...base, lockToken: randomUUID(), afterKeys: {} });
  return { batch: batch.events.length, pull: pull.kind === "claimed" ? 1 : 0 };
}

describe("the mode row", () => {
  test("turns in two steps, each under a new epoch; between them nobody claims, after them only the new drainer", async () => {
    const database = await openDatabase();
    const { pool } = database;
    await insertEvents(database, 4);
    await seedProcess(pool);
    expect(await claims(pool, 1n)).toEqual({ batch: 1, pull: 0 });
    expect(await step(pool)).toBe("desired");
    expect(await modeOf(pool)).toBe("batch>pull@2");
    for (const epoch of [1n, 2n]) expect(await claims(pool, epoch)).toEqual({ batch: 0, pull: 0 });
    expect(await step(pool), "while a claim of before is live").toBe(null);
    await letTimePass(database);
    expect(await step(pool)).toBe("mode");
    expect(await modeOf(pool)).toBe("pull@3");
    for (const epoch of [1n, 2n]) expect(await claims(pool, epoch)).toEqual({ batch: 0, pull: 0 });
    expect(await claims(pool, 3n)).toEqual({ batch: 0, pull: 1 });
  });

  test.each(["batch", "solo", "pull"] as const)("waits for a live claim of the kind %s until it is settled", async (claimMode) => {
    const { pool } = await openDatabase();
    await seedProcess(pool);
    const id = await seedClaim(pool, claimMode, 60);
    await step(pool);
    expect(await step(pool)).toBe(null);
    await pool.query(`DELETE FROM "OutboxEvent" WHERE "id" = $1`, [id]);
    expect(await step(pool)).toBe("mode");
  });

  test("goes back at once, under a new epoch, when the wish is withdrawn while it waits", async () => {
    const database = await openDatabase();
    const { pool } = database;
    await insertEvents(database, 1);
    await seedProcess(pool);
    await seedClaim(pool, "batch", 60);
    await step(pool);
    await seedProcess(pool, { vote: "false" });
    expect(await step(pool)).toBe("desired");
    expect(await modeOf(pool)).toBe("batch@3");
    expect(isUnsettled(await readModeState(pool))).toBe(false);
    expect(await claims(pool, 3n)).toEqual({ batch: 1, pull: 0 });
  });

  test("is moved once by many processes that try at the same time", async () => {
    const { pool } = await openDatabase();
    await seedProcess(pool);
    const state = await readModeState(pool);
    const moves = await Promise.all(Array.from({ length: 20 }, () => moveMode(pool, state)));
    expect(moves.filter((move) => move !== null)).toEqual(["desired"]);
    const next = await readModeState(pool);
    expect((await Promise.all(Array.from({ length: 20 }, () => moveMode(pool, next)))).filter((move) => move !== null)).toEqual(["mode"]);
    expect(await modeOf(pool)).toBe("pull@3");
  });

  test("is not moved by a process that was paused since it decided: another one has joined, or moved it", async () => {
    const { pool } = await openDatabase();
    await seedProcess(pool);
    const decided = await readModeState(pool);
    const objector = await seedProcess(pool, { vote: "false" });
    expect(await moveMode(pool, decided), "a vote against it has come").toBe(null);
    await leave(pool, objector);
    for (const move of ["desired", "mode"]) expect(await step(pool)).toBe(move);
    const back = await seedProcess(pool, { blockers: ["red"] });
    for (const move of ["desired", "mode"]) expect(await step(pool)).toBe(move);
    await leave(pool, back);
    expect(await modeOf(pool)).toBe("batch@5");
    expect(await moveMode(pool, decided), "the row has moved on").toBe(null);
  });

  test("stays as it is with nobody registered, and does not count those that ran out or do not drain", async () => {
    const { pool } = await openDatabase();
    await seedProcess(pool, { vote: "false", alive: false });
    await seedProcess(pool, { vote: "false", drains: false });
    expect(await step(pool)).toBe(null);
    expect((await readModeState(pool)).decision).toEqual({ desired: "batch", reasons: ["no live process drains"] });
    await seedProcess(pool);
    expect((await readModeState(pool)).decision).toEqual({ desired: "pull", reasons: [] });
  });

  test("the statement that turns it and the decision that is shown follow one rule", async () => {
    const { pool } = await openDatabase();
    const entry = fc.record({
      vote: fc.constantFrom("false" as const, "shadow" as const, "true" as const, "true" as const),
      blockers: fc.constantFrom([], [], ["red"], null),
      drains: fc.boolean(),
      alive: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 4 }), fc.constantFrom("batch", "pull"), async (entries, mode) => {
        await pool.query(`DELETE FROM "OutboxDrainer"`);
        await pool.query(`UPDATE "OutboxMode" SET "mode" = $1, "desired" = $1`, [mode]);
        for (const each of entries) await seedProcess(pool, each);
        const state = await readModeState(pool);
        const moved = await moveMode(pool, state);
        expect(moved).toBe(state.decision.desired === mode ? null : "desired");
        // The other way round nothing is turned: the statement asks the register itself.
        const other = state.decision.desired === "pull" ? ("batch" as const) : ("pull" as const);
        const now = await readModeState(pool);
        expect(await moveMode(pool, { mode: now.mode, decision: { desired: other, reasons: [] } })).not.toBe("desired");
      }),
      { numRuns: 60 },
    );
  });
});
