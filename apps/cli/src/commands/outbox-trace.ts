import { createHeldBy } from "@toolctrl/consumer-map/held";
import { createRouter } from "@toolctrl/event-router/router";
import type { HeldBy } from "@toolctrl/outbox-drainer/held";
import { traceEvent, type EventTrace, type TraceStep } from "@toolctrl/outbox-drainer/stats";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { eventIdOf } from "../event-id.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { formatStatus, formatTime } from "../output/format-values.ts";
import { facts, paint } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withQueue } from "../resources.ts";

/** `outbox trace <id>`: where an event is and why, and everything that happened to it. */
export function registerOutboxTrace(parent: Command, registrar: Registrar, parts: { readonly heldBy?: HeldBy }): void {
  const command = parent
    .command("trace")
    .description("where an event is and why: published, claimed, handed off, job, consumers, receipts, operators")
    .argument("<id>", "id of the event");
  registrar.handle(command, async ({ io, json, args }) => {
    const id = eventIdOf(args[0]);
    return withQueue(io, "warn", async ({ pool }, backend) => {
      const trace = await traceEvent({ db: pool, router: createRouter(), backend, heldBy: parts.heldBy ?? createHeldBy() }, id);
      writeResult(io, json, trace, () => describe(io, trace));
      return EXIT.ok;
    });
  });
}

function describe(io: Io, trace: EventTrace): string {
  const { event, route, verdict } = trace;
  const unreachable = trace.jobs.find((job) => job.error !== null);
  return [
    facts(io, [
      ["event", event.id],
      ["type", event.eventType],
      ["tenant", event.tenantId],
      [
        "status",
        `${formatStatus(io, event.status)} (attempts ${event.attempts}, retries ${event.retries}, crashes ${event.crashes}, generation ${event.generation})`,
      ],
      [
        "route",
        route === null
          ? "none: this version has no routing rule for it"
          : `${route.prefix} → ${route.target} → ${route.consumers.join(" → ") || "no consumer"}`,
      ],
    ]),
    "",
    ...trace.steps.flatMap((step) => describeStep(io, step)),
    ...trace.jobs.flatMap((job) =>
      job.view === null && job.error === null && job.generation === event.generation && event.status === "DONE"
        ? [`${" ".repeat(26)}job ${job.jobId} is not in ${job.queue} (any more)`]
        : [],
    ),
    "",
    ...(unreachable === undefined ? [] : [`The queue could not be asked: ${unreachable.error}`]),
    `${paint(io, "bold", verdict.state)}: ${verdict.why}`,
    ...(verdict.next === null ? [] : [`next: ${verdict.next}`]),
  ].join("\n");
}

function describeStep(io: Io, step: TraceStep): string[] {
  const line = `${formatTime(step.at)}  ${step.step.padEnd(10)}  ${step.detail}`;
  return step.error === null ? [line] : [line, `${" ".repeat(38)}${paint(io, "red", step.error)}`];
}
