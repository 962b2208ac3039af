import assert from "node:assert/strict";
import { assertClockSkew } from "../clock-skew.ts";
import { openedBackends, QUEUE, type QueueHarness, type SuiteApi } from "./harness.ts";

const EVERY_MS = 400;

export function describeScheduling(harness: QueueHarness, api: SuiteApi): void {
  api.describe("scheduling and clocks", () => {
    const { fresh, open } = openedBackends(harness, api);
    const { waitFor } = harness;

    api.it("fires a schedule once per turn, however many processes ask for it and work on it", async () => {
      const { backend, options } = await fresh();
      const backends = [backend, await open(options), await open(options)];
      const fired: string[] = [];
      const job = { schedulerId: "every", name: "cleanup.run", data: { n: 1 }, everyMs: EVERY_MS };
      await Promise.all(backends.map((each) => each.schedule(QUEUE, job)));
      for (const each of backends) each.work(QUEUE, async (delivered) => (fired.push(delivered.id), { kind: "done" }), { concurrency: 2 });
      await waitFor(() => fired.length >= 3);
      await Promise.all(backends.map((each) => each.schedule(QUEUE, job)));
      await waitFor(() => fired.length >= 6);
      const turns = fired.map((id) => Number(id.split(":").at(-1)));
      assert.equal(new Set(turns).size, turns.length, `expected each turn once, got ${fired.join(" ")}`);
      const gaps = turns.slice(1).map((turn, n) => turn - (turns[n] as number));
      assert.ok(
        gaps.every((gap) => gap >= EVERY_MS),
        `expected turns ${EVERY_MS} ms apart, got ${gaps.join(" ")}`,
      );
    });

    api.it("has one job waiting for the next turn of a cron pattern, and an update replaces it", async () => {
      const { backend, options } = await fresh();
      const other = await open(options);
      const daily = { schedulerId: "daily", name: "cleanup.run", data: {}, pattern: "0 3 * * *" };
      await Promise.all([backend.schedule(QUEUE, daily), other.schedule(QUEUE, daily), backend.schedule(QUEUE, daily)]);
      await other.schedule(QUEUE, { ...daily, pattern: "30 4 * * *" });
      const counts = await backend.counts(QUEUE);
      assert.deepEqual({ delayed: counts.delayed, waiting: counts.waiting }, { delayed: 1, waiting: 0 });
    });

    api.it("refuses a schedule that has both or neither of pattern and interval", async () => {
      const { backend } = await fresh();
      const job = { schedulerId: "x", name: "cleanup.run", data: {} };
      await assert.rejects(backend.schedule(QUEUE, job), { code: "QUEUE.SETTING" });
      await assert.rejects(backend.schedule(QUEUE, { ...job, pattern: "* * * * *", everyMs: 1000 }), { code: "QUEUE.SETTING" });
      await assert.rejects(backend.schedule(QUEUE, { ...job, schedulerId: "a:b", everyMs: 1000 }), { code: "QUEUE.SETTING" });
    });

    api.it("reads the server's clock, and accepts one that agrees", async () => {
      const { backend, options } = await fresh();
      const skewMs = await assertClockSkew(backend, options.log);
      assert.ok(Math.abs(skewMs) < 1000, `expected the clock of this very machine, got a skew of ${skewMs} ms`);
    });
  });
}
