import { createRouter } from "@toolctrl/event-router/router";
import { expect, test } from "vitest";
import { traceEvent } from "../../src/stats.ts";
import { openDatabase } from "../support.ts";
import { seedLine, type LineState } from "./seed-line.ts";

const backend = { find: () => Promise.resolve(null), kind: "redis", prefix: "p" } as const;

test.each([
  ["parked", "failed for good and keeps its place", /outbox requeue HEAD`, or `toolctrl-cli outbox skip HEAD`$/],
  ["held", "is held", /outbox trace HEAD`/],
  ["backoff", "waits for its next try", /^$/],
  ["in-flight", "is claimed", /^$/],
  ["due", "is due", /^$/],
] satisfies Array<[LineState, string, RegExp]>)(
  "under pull workers, the trace of an event behind a head that is %s says so and names it",
  async (state, why, next) => {
    const { pool } = await openDatabase();
    await pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
    const [head = "", behind = ""] = await seedLine(pool, "1", [state, "due"]);
    const { verdict } = await traceEvent({ db: pool, router: createRouter(), backend }, behind);
    expect(verdict).toMatchObject({ state: "blocked", why: `it waits behind the older event ${head} of Lead/1, which ${why}` });
    expect((verdict.next ?? "").replaceAll(head, "HEAD")).toMatch(next);
  },
);

test("the head of a line, an event behind a dead one that does not park, and every event under the dispatcher wait for a drainer alone", async () => {
  const { pool } = await openDatabase();
  const stateOf = async (id: string): Promise<string> =>
    (await traceEvent({ db: pool, router: createRouter(), backend }, id)).verdict.state;
  const [first = "", second = ""] = await seedLine(pool, "1", ["due", "due"]);
  const [, after = ""] = await seedLine(pool, "2", ["dead", "due"]);
  expect(await Promise.all([first, second, after].map(stateOf))).toEqual(["waiting", "waiting", "waiting"]);
  await pool.query(`UPDATE "OutboxMode" SET "mode" = 'pull', "desired" = 'pull'`);
  expect(await Promise.all([first, second, after].map(stateOf))).toEqual(["waiting", "blocked", "waiting"]);
});
