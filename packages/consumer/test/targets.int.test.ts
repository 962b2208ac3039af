import { CodedError } from "@toolctrl/foundation/errors";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import type { DeadDelivery } from "../src/define.ts";
import { CONSUMER, createHarness, newEventId, untilJob, type Harness } from "./harness.ts";

async function receiptsByName({ database }: Harness, eventId: string): Promise<Record<string, string>> {
  const { rows } = await database.pool.query<{ consumer: string; outcome: string }>(
    `SELECT "consumer", "outcome" FROM "OutboxReceipt" WHERE "eventId" = $1 ORDER BY "consumer"`,
    [eventId],
  );
  return Object.fromEntries(rows.map(({ consumer, outcome }) => [consumer, outcome]));
}

/** The queue tells of a dead job before its receipt is written. */
const untilDead = (harness: Harness, eventId: string, target: string) =>
  waitFor(async () => (await receiptsByName(harness, eventId))[`${CONSUMER}/${target}`] === "dead", { what: `${target} to be dead` });

test("jobs of one event with a target each have claims and receipts of their own: one that runs or is dead holds up no other, and none runs twice", async () => {
  const harness = await createHarness({ attempts: 2, backoffMs: 10 });
  const ran: string[] = [];
  const dead: DeadDelivery[] = [];
  const slow = Promise.withResolvers<void>();
  harness.start({
    async handle({ envelope: { target = "", generation } }) {
      ran.push(`${target}${generation}`);
      if (target === "slow") await slow.promise;
      if (target === "broken") throw new CodedError("MAIL.REJECTED", "refused for good");
      return { kind: "done" };
    },
    onDead: async (delivery) => void dead.push(delivery),
  });
  const id = newEventId();
  // The generations only give each job an id of its own here.
  await harness.add({ outboxEventId: id, target: "slow", generation: 0 });
  await harness.add({ outboxEventId: id, target: "quick", generation: 1 });
  await harness.add({ outboxEventId: id, target: "broken", generation: 2 });
  await untilJob(harness, id, "completed", 1);
  await untilDead(harness, id, "broken");
  expect(await receiptsByName(harness, id)).toEqual({ [`${CONSUMER}/quick`]: "done", [`${CONSUMER}/broken`]: "dead" });
  slow.resolve();
  await harness.add({ outboxEventId: id, target: "quick", generation: 3 });
  await untilJob(harness, id, "completed", 0);
  await untilJob(harness, id, "completed", 3);
  expect(ran.toSorted()).toEqual(["broken2", "quick1", "slow0"]);
  await waitFor(() => dead.length > 0);
  expect(dead).toMatchObject([
    { eventId: id, tenantId: "acme", effectEpoch: 0, envelope: { target: "broken" }, error: { code: "MAIL.REJECTED" } },
  ]);
});

test("what a consumer writes down about a dead job may fail: its receipt is there, and the worker goes on", async () => {
  const harness = await createHarness({ attempts: 1 });
  harness.start({
    handle: async ({ envelope }) => ({ kind: envelope.target === "b" ? "done" : "cancel", error: new Error("never") }),
    onDead: () => Promise.reject(new Error("the table is gone")),
  });
  const id = newEventId();
  await harness.add({ outboxEventId: id, target: "a" });
  await harness.add({ outboxEventId: id, target: "b", generation: 1 });
  await untilDead(harness, id, "a");
  await untilJob(harness, id, "completed", 1);
  expect(await receiptsByName(harness, id)).toEqual({ [`${CONSUMER}/a`]: "dead", [`${CONSUMER}/b`]: "done" });
});
