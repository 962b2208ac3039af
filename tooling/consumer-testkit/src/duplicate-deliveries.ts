import { waitFor } from "@toolctrl/testkit/wait";
import { describe, expect, onTestFinished, test } from "vitest";
import { startApp } from "./app-process.ts";
import { openInstallation, receiptsOf, runConsumers, type Installation } from "./installation.ts";
import { letJobLocksRunOut, untilForgotten } from "./locks.ts";
import type { Subject } from "./subject.ts";

/** The old name of {@link Subject}. */
export type ConsumerUnderTest = Subject;

/** A claim is waited for in real time here: that this uses no attempt is what is tested. */
const CLAIM_TTL_MS = 1500;

/** What each delivery of an event beyond its first comes to, whatever way it comes. One set of tests for every consumer. */
export function describeDuplicateDeliveries(consumers: readonly ConsumerUnderTest[]): void {
  describe.each(consumers)("$name", (consumer) => {
    test("twice in sequence, and once more after its completed job is gone: one effect", async () => {
      const { installation, eventId } = await open(consumer);
      run(installation, consumer);
      const jobs = [await consumer.add(installation, eventId, 0)];
      await untilCompleted(installation, consumer, jobs);
      jobs.push(await consumer.add(installation, eventId, 1));
      await untilCompleted(installation, consumer, jobs);
      await installation.backend.obliterate(consumer.queue);
      await untilCompleted(installation, consumer, [await consumer.add(installation, eventId, 0)]);
      expect(await outcomeOf(installation, consumer, eventId)).toEqual({ effects: 1, receipts: [`${consumer.name} done`], suppressed: 2 });
    });

    test("twice at once: the second waits for the first, using no attempt, and there is one effect", async () => {
      const { installation, eventId } = await open(consumer);
      const held = await hold(installation, consumer.table);
      run(installation, consumer);
      const first = await consumer.add(installation, eventId, 0);
      await held.untilSomebodyWaits();
      const second = await consumer.add(installation, eventId, 1);
      await waitFor(async () => (await installation.backend.find(consumer.queue, second))?.state === "delayed", {
        what: "the second delivery to be told to wait",
      });
      expect(await receiptsOf(installation, eventId)).not.toContain(`${consumer.name} done`);
      await held.release();
      await untilCompleted(installation, consumer, [first, second]);
      expect(await outcomeOf(installation, consumer, eventId)).toEqual({ effects: 1, receipts: [`${consumer.name} done`], suppressed: 1 });
    });

    test("killed inside its handler: the retry waits for the dead one's claim, runs it, and no attempt is used", async () => {
      const { installation, eventId } = await open(consumer);
      const held = await hold(installation, consumer.table);
      const app = await startApp(installation, consumer.app(CLAIM_TTL_MS));
      const job = await consumer.add(installation, eventId, 0);
      await held.untilSomebodyWaits();
      app.kill("SIGKILL");
      await app.waitForExit();
      await held.release();
      await untilForgotten(installation);
      await letJobLocksRunOut(installation);
      run(installation, consumer);
      await untilCompleted(installation, consumer, [job]);
      expect(await outcomeOf(installation, consumer, eventId)).toEqual({ effects: 1, receipts: [`${consumer.name} done`], suppressed: 0 });
    });
  });
}

async function open(consumer: ConsumerUnderTest): Promise<{ installation: Installation; eventId: string }> {
  const installation = await openInstallation("redis", { claimTtlMs: CLAIM_TTL_MS });
  onTestFinished(() => installation.close());
  return { installation, eventId: await consumer.publish(installation) };
}

function run(installation: Installation, consumer: ConsumerUnderTest): void {
  const { consumers, close } = consumer.consumers(installation);
  const running = runConsumers(
    installation,
    consumers.filter(({ name }) => name === consumer.name),
  );
  onTestFinished(async () => {
    await running.close(2000);
    await close?.();
  });
}

/** Locks a table until it is told to let go. */
async function hold(
  { database }: Installation,
  table: string,
): Promise<{ untilSomebodyWaits(): Promise<unknown>; release(): Promise<void> }> {
  const client = await database.pool.connect();
  await client.query(`BEGIN; LOCK TABLE "${table}" IN ACCESS EXCLUSIVE MODE`);
  let released: Promise<void> | undefined;
  const release = (): Promise<void> => (released ??= client.query("COMMIT").then(() => client.release()));
  onTestFinished(release);
  return {
    release,
    untilSomebodyWaits: () =>
      waitFor(
        async () =>
          (await database.pool.query(`SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`))
            .rowCount === 1,
        { what: `a handler to wait for ${table}` },
      ),
  };
}

async function untilCompleted({ backend }: Installation, { queue }: ConsumerUnderTest, jobs: readonly string[]): Promise<void> {
  for (const job of jobs) {
    await waitFor(async () => (await backend.find(queue, job))?.state === "completed", {
      what: `${job} to be completed`,
      timeoutMs: 20_000,
    });
    expect((await backend.find(queue, job))?.failures, "attempts used").toBe(0);
  }
}

/** What came of an event. `suppressed`: the deliveries whose handler was not even run, by the consumer's own count. */
async function outcomeOf(
  installation: Installation,
  { name, effects }: ConsumerUnderTest,
  eventId: string,
): Promise<{ effects: number; receipts: string[]; suppressed: number }> {
  const line = `outbox_duplicates_suppressed_total{consumer="${name}"} `;
  const counted = (await installation.metrics.text()).split("\n").find((each) => each.startsWith(line));
  return {
    effects: await effects(installation, eventId),
    receipts: (await receiptsOf(installation, eventId)).filter((receipt) => receipt.startsWith(`${name} `)),
    suppressed: Number(counted?.slice(line.length) ?? 0),
  };
}
