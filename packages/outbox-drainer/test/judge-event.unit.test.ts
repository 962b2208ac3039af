import type { Receipt } from "@toolctrl/db/receipts";
import { createRouter } from "@toolctrl/event-router/router";
import type { JobState } from "@toolctrl/queue/port";
import { describe, expect, test } from "vitest";
import { judgeEvent, type VerdictFacts } from "../src/stats/judge-event.ts";

const NOW = new Date("2026-11-30T12:00:00Z");
const EARLIER = new Date("2026-11-30T11:00:00Z");
const LATER = new Date("2026-11-30T13:00:00Z");
const router = createRouter();

const HOLD = { consumer: "mail-render", reason: "nobody has looked at it", since: "2026-12-02" };

type Facts = Partial<Omit<VerdictFacts, "event">> & { event?: Partial<VerdictFacts["event"]> };

function judge({ event, ...facts }: Facts) {
  const base: VerdictFacts["event"] = {
    id: "e1",
    position: "1",
    tenantId: "acme",
    eventType: "mail.message.send",
    version: 1,
    dispatchKey: null,
    status: "DONE",
    attempts: 1,
    retries: 0,
    crashes: 0,
    scheduledAt: EARLIER,
    lockedUntil: null,
    claimMode: null,
    blocksLine: false,
    lastErrorCode: null,
    lastError: null,
    processedAt: EARLIER,
    generation: 0,
    effectEpoch: 0,
    replayConsumer: null,
    traceparent: null,
    tracestate: null,
    correlationId: null,
    causationId: null,
    depth: 0,
    createdAt: EARLIER,
    updatedAt: EARLIER,
  };
  const whole = { ...base, ...event };
  return judgeEvent({ now: NOW, route: router(whole.eventType), receipts: [], jobs: [], servers: 1, drainers: 1, ...facts, event: whole });
}

function receipt(consumer: string, outcome: Receipt["outcome"] = "done", effectEpoch = 0): Receipt {
  const detail = outcome === "dead" ? "550 no such user" : null;
  const at = { createdAt: EARLIER, updatedAt: EARLIER };
  return { eventId: "e1", consumer, effectEpoch, generation: 0, tenantId: "acme", outcome, result: null, detail, ...at };
}

function job(state: JobState, generation = 0): VerdictFacts["jobs"][number] {
  const view = { id: "outbox-e1", state, failures: 0, starts: 1, failedReason: null, addedAt: EARLIER, startedAt: null, finishedAt: null };
  return { queue: "outbox.mail", jobId: "outbox-e1", generation, view, error: null };
}

describe("the verdict on an event", () => {
  test.each<[string, Facts, string, RegExp]>([
    ["due, nobody drains", { event: { status: "PENDING" }, drainers: 0 }, "waiting", /OUTBOX_DISPATCHER_ENABLED/],
    ["due", { event: { status: "PENDING" } }, "waiting", /^$/],
    [
      "in backoff",
      { event: { status: "PENDING", scheduledAt: LATER, retries: 2, lastErrorCode: "QUEUE.TIMEOUT", lastError: "slow" } },
      "retrying",
      /^$/,
    ],
    ["of a held route", { event: { status: "PENDING" }, hold: HOLD }, "held", /OUTBOX_PULL_WORKER=false.+outbox cancel e1/],
    ["claimed", { event: { status: "PROCESSING", lockedUntil: LATER } }, "claimed", /^$/],
    ["claim ran out", { event: { status: "PROCESSING", lockedUntil: EARLIER } }, "claimed", /^$/],
    ["failed", { event: { status: "FAILED", lastErrorCode: "ROUTER.UNROUTABLE", lastError: "no rule" } }, "failed", /outbox requeue e1/],
    ["cancelled", { event: { status: "CANCELLED" } }, "cancelled", /outbox requeue e1/],
    ["every receipt there", { receipts: [receipt("mail-render"), receipt("email-send")] }, "finished", /^$/],
    ["job waits", { receipts: [receipt("mail-render")], jobs: [job("waiting")] }, "handed-off", /^$/],
    ["job delayed", { jobs: [job("delayed")] }, "handed-off", /^$/],
    ["nobody serves the queue", { servers: 0, jobs: [job("waiting")] }, "no-consumer", /start the worker/],
    [
      "a consumer gave up",
      { receipts: [receipt("mail-render"), receipt("email-send", "dead")], jobs: [job("completed")] },
      "dead",
      /outbox requeue e1/,
    ],
    [
      "gave up, and requeued since",
      { event: { generation: 1 }, receipts: [receipt("email-send", "dead")], jobs: [job("failed"), job("waiting", 1)] },
      "handed-off",
      /^$/,
    ],
    [
      "gave up, requeued since, and the job gone",
      { event: { generation: 1 }, receipts: [receipt("mail-render"), receipt("email-send", "dead")], jobs: [job("failed")] },
      "lost",
      /outbox requeue e1/,
    ],
    [
      "gave up again after a requeue",
      { event: { generation: 1 }, receipts: [{ ...receipt("email-send", "dead"), generation: 1 }], jobs: [job("failed", 1)] },
      "dead",
      /outbox requeue e1/,
    ],
    [
      "of a type that this version has no route for",
      { event: { eventType: "product.order.placed" } },
      "no-route",
      /worker that handed it off/,
    ],
    ["job gone", { receipts: [receipt("mail-render")] }, "lost", /outbox requeue e1/],
    [
      "only the job of an earlier generation is there",
      { event: { generation: 1 }, jobs: [job("waiting", 0)] },
      "lost",
      /outbox requeue e1/,
    ],
    ["the queue cannot be asked", { jobs: [{ ...job("waiting"), view: null, error: "away" }] }, "handed-off", /queue's server/],
    [
      "replayed, with its old receipt only",
      {
        event: { effectEpoch: 1, replayConsumer: "email-send" },
        receipts: [receipt("mail-render"), receipt("email-send")],
        jobs: [job("active")],
      },
      "handed-off",
      /^$/,
    ],
    [
      "replayed and done",
      { event: { effectEpoch: 1, replayConsumer: "email-send" }, receipts: [receipt("mail-render"), receipt("email-send", "done", 1)] },
      "finished",
      /^$/,
    ],
  ])("%s", (_what, facts, state, next) => {
    const verdict = judge(facts);
    expect(verdict.state).toBe(state);
    expect(verdict.next ?? "").toMatch(next);
    expect(verdict.why).not.toBe("");
  });

  test("names the error it died of, and what holds it", () => {
    expect(judge({ receipts: [receipt("email-send", "dead")] }).why).toBe("email-send gave up on it: 550 no such user");
    expect(judge({ event: { status: "FAILED", lastErrorCode: "QUEUE.REJECTED", lastError: "bad entry" } }).why).toContain(
      "QUEUE.REJECTED: bad entry",
    );
    expect(judge({ event: { status: "PENDING" }, hold: HOLD }).why).toBe(
      "pull workers hold its route mail.: mail-render is out of scope since 2026-12-02, nobody has looked at it",
    );
  });
});
