import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { closeGate } from "./gate.ts";
import { openRig, type Rig } from "./rig.ts";
import { publishRound, untilReceipts, type Round } from "./traffic.ts";
import type { Worker } from "./worker.ts";

const CLAIMS = "outbox_claims_total";
const ROUNDS = 8;

/** Tells a worker to stop, then publishes rounds one by one, each taken by the other worker, and says what the stopping one did meanwhile. */
async function stopUnderTraffic(rig: Rig, worker: Worker, metric: string, take: (round: Round) => Promise<unknown>): Promise<number> {
  worker.kill("SIGTERM");
  await worker.waitForLine(/"msg":"stopping"/);
  await waitFor(async () => (await worker.status("/readyz")) === 503, { what: "the stopping worker to say that it is not ready" });
  const before = await worker.metric(metric);
  for (let n = 0; n < ROUNDS; n += 1) await take(await publishRound(rig, `late-${n}`));
  return (await worker.metric(metric)) - before;
}

test("worker-general, told to stop inside a slow handler, claims and takes nothing more, lets the handler finish and ends with 0", async () => {
  const rig = await openRig();
  const [stopping] = await Promise.all([rig.start("general"), rig.start("mail")]);
  const gate = await closeGate(rig, `BEFORE INSERT ON "Notification" FOR EACH ROW`);
  const early = await publishRound(rig, "early");
  await gate.untilWaiting(1);
  const other = await rig.start("general");
  const handedOff = (round: Round): Promise<unknown> =>
    waitFor(
      async () =>
        (await rig.database.pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "eventId" = $1 AND "outcome" = 'done'`, [round.audit]))
          .rowCount,
      { what: "an event published after the signal to be handled", timeoutMs: 20_000 },
    );
  expect(await stopUnderTraffic(rig, stopping, CLAIMS, handedOff)).toBe(0);
  expect(await stopping.metric(`outbox_consumer_deliveries_total{consumer="audit-append",outcome="done"}`)).toBe(1);
  await gate.open();
  expect(await stopping.waitForExit({ timeoutMs: 25_000 })).toEqual({ code: 0, signal: null });
  await untilReceipts(rig, [early]);
  // Finished where it began: the other worker met no claim of it.
  expect(await other.metric(`outbox_duplicates_suppressed_total{consumer="notification-create"}`)).toBe(0);
  expect((await rig.database.pool.query(`SELECT 1 FROM "Notification" WHERE "eventId" = $1`, [early.notification])).rowCount).toBe(1);
});

test("worker-mail, told to stop inside a slow request, takes nothing more, waits for the answer and ends with 0", async () => {
  const rig = await openRig({ env: { WEBHOOK_DEADLINE_MS: "25000", OUTBOX_CLAIM_TTL_MS: "30000" } });
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  rig.http.respond(async (_request, index) => {
    if (index === 0) await answered;
    return { status: 200 };
  });
  const [stopping] = await Promise.all([rig.start("mail"), rig.start("general")]);
  const early = await publishRound(rig, "early");
  await waitFor(() => rig.http.requests.length === 1, { what: "the first request", timeoutMs: 20_000 });
  await waitFor(() => rig.smtp.mails.length === 1, { what: "the first mail", timeoutMs: 20_000 });
  await rig.start("mail");
  const taken = (): Promise<unknown> =>
    waitFor(
      async () =>
        (await rig.database.pool.query(`SELECT 1 FROM "OutboxReceipt" WHERE "consumer" = 'webhook-deliver'`)).rowCount ===
        rig.http.requests.length - 1,
      { what: "a webhook published after the signal to be delivered", timeoutMs: 20_000 },
    );
  const deliveries = `outbox_consumer_deliveries_total{consumer="webhook-deliver",outcome="done"}`;
  const next = async (round: Round): Promise<unknown> => {
    await waitFor(() => rig.http.requests.some(({ headers }) => headers["webhook-id"] === round.webhook), { timeoutMs: 20_000 });
    return taken();
  };
  expect(await stopUnderTraffic(rig, stopping, deliveries, next)).toBe(0);
  answer();
  expect(await stopping.waitForExit({ timeoutMs: 25_000 })).toEqual({ code: 0, signal: null });
  await untilReceipts(rig, [early]);
  expect(rig.http.requests.filter(({ headers }) => headers["webhook-id"] === early.webhook)).toHaveLength(1);
  const { rows } = await rig.database.pool.query(`SELECT "state", "attempts", "unknowns" FROM "OutboxIntent" WHERE "eventId" = $1`, [
    early.webhook,
  ]);
  expect(rows).toEqual([{ state: "sent", attempts: 1, unknowns: 0 }]);
});
