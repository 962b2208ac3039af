import type { Database } from "@toolctrl/db/client";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ClaimedEvent } from "../../src/claimed-event.ts";
import { openDatabase } from "../support.ts";
import { createLineModel, type LineModel } from "./line-model.ts";
import { createLinePlayer, type DeadHead, type Ending, type LinePlayer } from "./line-player.ts";
import { preparePull } from "./support.ts";

const RECORDS = ["a", "b", "c"];
const POLICIES = ["park", "continue"] as const;

/** One move; `pick` chooses among the claims or events that there are. */
type Move =
  | { readonly kind: "publish"; readonly record: string }
  | { readonly kind: "claim" }
  | { readonly kind: "settle"; readonly ending: Ending; readonly pick: number }
  | { readonly kind: "crash"; readonly pick: number }
  | { readonly kind: "requeue" | "skip" | "cancel"; readonly pick: number };

const pick = fc.nat(999);
const drainer: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: "claim" as const }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("settle" as const), ending: fc.constantFrom<Ending>("done", "fails", "lock time-out"), pick }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("crash" as const), pick }) },
);
const publisher: fc.Arbitrary<Move> = fc.record({ kind: fc.constant("publish" as const), record: fc.constantFrom(...RECORDS) });
const operator: fc.Arbitrary<Move> = fc.record({ kind: fc.constantFrom("requeue" as const, "skip" as const, "cancel" as const), pick });

async function openLines(): Promise<Database> {
  const database = await openDatabase();
  await preparePull(database);
  // What became done, and what an operator or its own death took out of its turn; written in the transaction that did it.
  await database.pool.query(`
    CREATE TABLE "Turn" ("n" bigserial, "eventId" uuid, "what" text);
    CREATE FUNCTION "logTurn"() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO "Turn" ("eventId", "what") VALUES (NEW."id", CASE WHEN NEW."status" = 'DONE' THEN 'done' ELSE 'let go' END);
      RETURN NULL;
    END $$;
    CREATE TRIGGER "logTurn" AFTER UPDATE ON "OutboxEvent" FOR EACH ROW WHEN (OLD."blocksLine" AND NOT NEW."blocksLine") EXECUTE FUNCTION "logTurn"()`);
  return database;
}

async function clear(database: Database): Promise<void> {
  await database.pool.query(`TRUNCATE "OutboxEvent", "OutboxAction", "Turn"`);
}

/** Requeues what is parked and drains, until nothing is left to do. */
async function drainAll(database: Database, player: LinePlayer): Promise<void> {
  await database.pool.query(
    `UPDATE "OutboxEvent" SET "lockedUntil" = clock_timestamp() - interval '1 second' WHERE "status" = 'PROCESSING'`,
  );
  for (;;) {
    for (let event = await player.claim(); event !== null; event = await player.claim())
      expect(await player.settle(event, "done")).toBe(true);
    const { rows } = await database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" WHERE "status" = 'FAILED' AND "blocksLine"`);
    if (rows.length === 0) return;
    for (const { id } of rows) await player.operate("requeue", id);
  }
}

/** Every event is there and has come to an end, and of a record those that were never let go were first done in their order. */
async function checkEnd(database: Database, published: readonly string[]): Promise<void> {
  const { rows: open } = await database.pool.query(
    `SELECT "id" FROM "OutboxEvent" WHERE "status" IN ('PENDING', 'PROCESSING') OR "blocksLine"`,
  );
  expect(open, "events that nobody claims").toEqual([]);
  const { rows: events } = await database.pool.query<{ id: string }>(`SELECT "id"::text FROM "OutboxEvent"`);
  expect(new Set(events.map(({ id }) => id)), "events that are there").toEqual(new Set(published));
  const { rows: outOfTurn } = await database.pool.query(`
    SELECT * FROM (
      SELECT e."recordKey", e."position", lag(e."position") OVER (PARTITION BY e."recordKey" ORDER BY t."first") AS "before"
      FROM (SELECT "eventId", min("n") AS "first" FROM "Turn" WHERE "what" = 'done' GROUP BY 1) t JOIN "OutboxEvent" e ON e."id" = t."eventId"
      WHERE NOT EXISTS (SELECT 1 FROM "Turn" g WHERE g."eventId" = e."id" AND g."what" = 'let go')
    ) x WHERE "position" < "before"`);
  expect(outOfTurn, "events that were done after a younger one").toEqual([]);
}

const chosen = <T>(list: readonly T[], place: number): T | undefined => list[place % Math.max(1, list.length)];

/** What a move gave, and what the model says it may give. */
interface Answer {
  readonly got: unknown;
  readonly allowed: readonly unknown[];
}

const NOTHING: Answer = { got: null, allowed: [null] };

/** Makes moves with the product and the model side by side. Claims that were lost stay: their holders do not know, and settle them too. */
function createDuel(player: LinePlayer, model: LineModel): { readonly ids: readonly string[]; move(move: Move): Promise<Answer> } {
  const claims: ClaimedEvent[] = [];
  const ids: string[] = [];

  async function publish(record: string): Promise<Answer> {
    const id = await player.publish(record);
    ids.push(id);
    model.publish(id, record);
    return NOTHING;
  }

  async function claim(): Promise<Answer> {
    const claimable = model.claimable();
    const event = await player.claim();
    if (event === null) return { got: null, allowed: claimable.length === 0 ? [null] : claimable };
    claims.push(event);
    if (claimable.includes(event.id)) model.claimed(event.id, event.lockToken);
    return { got: event.id, allowed: claimable };
  }

  async function crash(event: ClaimedEvent): Promise<Answer> {
    await player.loseLease(event);
    model.loseLease(event.id, event.lockToken);
    return NOTHING;
  }

  return {
    ids,
    async move(move) {
      if (move.kind === "publish") return publish(move.record);
      if (move.kind === "claim") return claim();
      if (move.kind === "settle" || move.kind === "crash") {
        const event = chosen(claims, move.pick);
        if (event === undefined) return NOTHING;
        if (move.kind === "crash") return crash(event);
        return { got: await player.settle(event, move.ending), allowed: [model.settle(event.id, event.lockToken, move.ending)] };
      }
      const id = chosen(ids, move.pick);
      return id === undefined ? NOTHING : { got: await player.operate(move.kind, id), allowed: [model.operate(move.kind, id)] };
    },
  };
}

/** Plays moves one after the other, each claim held as long as the moves say, and compares the table with the model after each. */
async function playAlone(database: Database, deadHead: DeadHead, moves: readonly Move[]): Promise<void> {
  await clear(database);
  const [player, model] = [createLinePlayer(database, deadHead), createLineModel(deadHead)];
  const duel = createDuel(player, model);
  for (const move of moves) {
    const { got, allowed } = await duel.move(move);
    expect(allowed, move.kind).toContain(got);
    const { rows } = await database.pool.query(
      `SELECT "id"::text, "status"::text, "blocksLine", "retries", "crashes" FROM "OutboxEvent" ORDER BY "position"`,
    );
    expect(rows).toEqual(model.rows());
  }
  await drainAll(database, player);
  await checkEnd(database, duel.ids);
}

/** Plays several lists of moves at the same time; every list has the claims of a process of its own. */
async function playTogether(database: Database, deadHead: DeadHead, lists: ReadonlyArray<readonly Move[]>): Promise<void> {
  await clear(database);
  const player = createLinePlayer(database, deadHead);
  const ids: string[] = [];
  for (const record of [...RECORDS, ...RECORDS]) ids.push(await player.publish(record));
  const play = async (moves: readonly Move[]): Promise<void> => {
    const claims: ClaimedEvent[] = [];
    for (const move of moves) {
      if (move.kind === "publish") ids.push(await player.publish(move.record));
      else if (move.kind === "claim") {
        const event = await player.claim();
        if (event !== null) claims.push(event);
      } else if (move.kind === "settle" || move.kind === "crash") {
        const event = chosen(claims, move.pick);
        if (event === undefined) continue;
        await (move.kind === "crash" ? player.loseLease(event) : player.settle(event, move.ending));
      } else await player.operate(move.kind, chosen(ids, move.pick) ?? "");
    }
  };
  const ends = await Promise.allSettled(lists.map(play));
  expect(ends.filter(({ status }) => status === "rejected")).toEqual([]);
  await drainAll(database, player);
  await checkEnd(database, ids);
}

describe.each(POLICIES)("where a dead head makes its line %s", (deadHead) => {
  test(
    "any sequence of moves leaves what the model says, gives a claim its heads only, and loses no event",
    { timeout: 240_000 },
    async () => {
      const database = await openLines();
      const move = fc.oneof({ weight: 3, arbitrary: publisher }, { weight: 9, arbitrary: drainer }, { weight: 3, arbitrary: operator });
      const property = fc.asyncProperty(fc.array(move, { minLength: 10, maxLength: 60, size: "max" }), (moves) =>
        playAlone(database, deadHead, moves),
      );
      await fc.assert(property, { numRuns: 24 });
    },
  );

  test("moves made at the same time lose no event, and do in its order whatever was not let go", { timeout: 240_000 }, async () => {
    const database = await openLines();
    const lists = fc.tuple(
      ...[0, 1, 2].map(() => fc.array(drainer, { minLength: 10, maxLength: 25, size: "max" })),
      fc.array(fc.oneof(publisher, operator), { minLength: 10, maxLength: 25, size: "max" }),
      fc.array(operator, { maxLength: 15, size: "max" }),
    );
    const property = fc.asyncProperty(lists, (played) => playTogether(database, deadHead, played));
    await fc.assert(property, { numRuns: 16 });
  });
});
