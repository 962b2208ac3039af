import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import { lockSnooze } from "@toolctrl/consumer/lock-snooze";
import type { Database } from "@toolctrl/db/client";
import { parsePayload } from "@toolctrl/domain/parse-payload";
import { assertNever, CodedError } from "@toolctrl/foundation/errors";
import { workflowContinueRequestedSchema, workflowExecutionRequestedSchema, workflowTriggerEventSchema } from "@toolctrl/foundation/events";
import type { JobOutcome } from "@toolctrl/queue/port";
import { endLostStream } from "@toolctrl/workflow/executions";
import type { Executor } from "@toolctrl/workflow/executors";
import type { RunEnd } from "@toolctrl/workflow/runner";
import { fanOutTrigger, type TriggerStore } from "@toolctrl/workflow/triggers";

const NAME = "workflow-trigger";

export interface WorkflowDeps {
  readonly pool: Database["pool"];
  readonly triggers: TriggerStore;
  readonly executor: Executor;
  readonly concurrency: number;
}

/**
 * The consumer of `outbox.workflow`: starts the workflows that an event matches, runs what was requested, and goes on with what waited. A start
 * is one transaction with its receipt; of a run each step is, so that a delivery in the middle of one finds what is left to do.
 */
export function createWorkflowConsumer(deps: WorkflowDeps): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.workflow",
    concurrency: deps.concurrency,
    async handle(delivery) {
      switch (delivery.type) {
        case "workflow.trigger.event":
          return startMatching(deps, delivery);
        case "workflow.execution.requested":
          return execute(deps, delivery, parsePayload(workflowExecutionRequestedSchema, delivery).executionId);
        case "workflow.execution.continue.requested":
          return goOn(deps, delivery);
        default:
          throw unknownType(delivery);
      }
    },
  };
}

function startMatching({ pool, triggers }: WorkflowDeps, delivery: Delivery): Promise<JobOutcome> {
  const { eventId, tenantId, envelope } = delivery;
  const trigger = parsePayload(workflowTriggerEventSchema, delivery);
  const event = { ...trigger, eventId, tenantId, depth: envelope.depth, correlationId: envelope.correlationId };
  return databaseEffect(pool, NAME, delivery, (tx) => fanOutTrigger(tx, event, triggers));
}

async function goOn(deps: WorkflowDeps, delivery: Delivery): Promise<JobOutcome> {
  const { executionId, reason } = parsePayload(workflowContinueRequestedSchema, delivery);
  if (reason !== "stream") return execute(deps, delivery, executionId);
  const leftMs = await endLostStream(deps.pool, { tenantId: delivery.tenantId, executionId });
  return leftMs === null ? { kind: "done", result: { executionId } } : snooze(leftMs);
}

async function execute({ executor }: WorkflowDeps, { tenantId, signal }: Delivery, executionId: string): Promise<JobOutcome> {
  try {
    return outcomeOf(await executor.execute({ tenantId, executionId }, signal), executionId);
  } catch (error) {
    const later = lockSnooze(error);
    if (later === null) throw error;
    return later;
  }
}

/** The job is done when its run rests; where another process is at it, or this one has to end, it looks again. Neither uses an attempt. */
function outcomeOf(end: RunEnd, executionId: string): JobOutcome {
  switch (end.kind) {
    case "ended":
      return { kind: "done", result: { executionId, status: end.status } };
    case "waiting":
      return { kind: "done", result: { executionId, status: "waiting" } };
    case "busy":
      return snooze(end.waitMs);
    case "interrupted":
      return snooze(0);
    default:
      return assertNever(end);
  }
}

function snooze(waitMs: number): JobOutcome {
  return { kind: "snooze", untilMs: Date.now() + Math.max(50, Math.ceil(waitMs) + 1) };
}

function unknownType({ eventId, type }: Delivery): CodedError {
  const known = "workflow.trigger.event, workflow.execution.requested or workflow.execution.continue.requested";
  return new CodedError("RECEIVER.PAYLOAD", `expected an event ${known}, got ${type}`, { facts: { eventId, type } });
}
