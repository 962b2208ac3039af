import type { Database } from "@toolctrl/db/client";
import { createRouter, ROUTES } from "@toolctrl/event-router/router";
import { databaseNow } from "@toolctrl/outbox-drainer/actions";
import { reconcileEvents, type ReconcileReport } from "@toolctrl/outbox-drainer/reconcile";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Command } from "commander";
import { watchInterrupt } from "../bulk/watch-interrupt.ts";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { hintDrainers } from "../hint-drainers.ts";
import type { Io } from "../io.ts";
import { addAuditOptions, type AuditOptions } from "../options/action-options.ts";
import { durationOption, momentOf, parseTime, type TimeOption } from "../options/parse-options.ts";
import { count, formatTime } from "../output/format-values.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withQueue } from "../resources.ts";

interface ReconcileCommandOptions extends AuditOptions {
  readonly apply?: boolean;
  readonly since?: TimeOption;
  readonly olderThan: number;
}

const SHOWN = 50;

const AFTER_HELP = `
worker-general does the same by itself every OUTBOX_RECONCILE_INTERVAL_MS; this is for looking, and for not waiting.
A job that gave up is not lost: its receipt says dead, and \`outbox requeue\` tries it again.

Examples:
  toolctrl-cli outbox reconcile                        what was handed off, not finished, and has no job any more
  toolctrl-cli outbox reconcile --since 2h --apply     send out again what was lost of the last two hours
`;

/** `outbox reconcile`: finds events whose job the queue has lost, and sends them out again. */
export function registerOutboxReconcile(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("reconcile")
    .description(
      "find DONE events that lack receipts their route expects and have no live job: the queue has lost it. --apply sends them out again",
    )
    .option("--apply", "requeue what is found; consumers that have a receipt stay suppressed")
    .option("--since <time>", "only events handed off since then: ISO 8601 with zone, a date (UTC), or how long ago (2h)", parseTime)
    .addOption(durationOption("--older-than <duration>", "only events handed off at least so long ago", "10s"))
    .addHelpText("after", AFTER_HELP);
  registrar.handle<ReconcileCommandOptions>(addAuditOptions(command), (invocation) =>
    withQueue(invocation.io, "refuse", (database, backend) => reconcile(database.pool, backend, invocation)),
  );
}

async function reconcile(
  pool: Database["pool"],
  backend: QueueBackend,
  invocation: Invocation<ReconcileCommandOptions>,
): Promise<ExitCode> {
  const { io, json, options } = invocation;
  const apply = options.apply === true;
  const interrupt = watchInterrupt();
  try {
    const report = await reconcileEvents(
      { pool, router: createRouter(), routes: ROUTES, backend },
      {
        apply,
        since: options.since === undefined ? null : momentOf(options.since, await databaseNow(pool)),
        olderThanMs: options.olderThan,
        actor: options.actor,
        reason: options.reason ?? null,
        onPage: (looked, lost) => void io.err.write(`looked at ${count(looked, "event")}, ${lost} lost\n`),
        signal: interrupt.signal,
      },
    );
    if (report.lost.some((event) => event.requeued)) await hintDrainers(pool);
    writeResult(io, json, { action: "reconcile", apply, ...report }, () => describe(io, report, apply));
    return report.interrupted ? EXIT.partial : EXIT.ok;
  } finally {
    interrupt.stop();
  }
}

function describe(io: Io, { looked, underWay, lost, interrupted }: ReconcileReport, apply: boolean): string {
  const summary = `Looked at ${count(looked, "handed-off event")}: ${underWay} under way, ${lost.length} lost.`;
  const rows = lost
    .slice(0, SHOWN)
    .map(({ id, eventType, tenantId, handedOffAt, missing, requeued }) => [
      id,
      eventType,
      tenantId,
      formatTime(handedOffAt),
      missing.join(", "),
      requeued ? "requeued" : "lost",
    ]);
  const requeued = lost.filter((event) => event.requeued).length;
  return [
    ...(lost.length === 0 ? [] : [table(io, ["ID", "TYPE", "TENANT", "HANDED OFF", "MISSING", "OUTCOME"], rows), ""]),
    ...(lost.length > SHOWN ? [`and ${lost.length - SHOWN} more; --json lists all.`, ""] : []),
    summary,
    ...(apply && lost.length > 0 ? [`Requeued ${count(requeued, "event")}.`] : []),
    ...(!apply && lost.length > 0 ? ["Nothing was changed: --apply sends them out again."] : []),
    ...(interrupted ? ["Interrupted: run it again, it goes on with the rest."] : []),
  ].join("\n");
}
