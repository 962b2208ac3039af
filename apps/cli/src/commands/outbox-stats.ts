import { createHeldBy } from "@toolctrl/consumer-map/held";
import { createRouter } from "@toolctrl/event-router/router";
import { OUTBOX_STATUSES } from "@toolctrl/outbox-drainer/actions";
import type { HeldBy } from "@toolctrl/outbox-drainer/held";
import { BLOCK_CAUSES, outboxStats, type OutboxStats, type QueueStats } from "@toolctrl/outbox-drainer/stats";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { count, formatSeconds, formatTime, shorten } from "../output/format-values.ts";
import { paint, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withQueue } from "../resources.ts";

/** `outbox stats`: what waits, where it goes, who serves it, what died, what was handed off and never finished. */
export function registerOutboxStats(parent: Command, registrar: Registrar, parts: { readonly heldBy?: HeldBy }): void {
  const command = parent
    .command("stats")
    .description(
      "counts by state and route, held routes, the backlog, queues and who serves them, dead jobs, DONE events without receipts",
    );
  registrar.handle(command, ({ io, json }) =>
    withQueue(io, "warn", async ({ pool }, backend) => {
      const stats = await outboxStats({ db: pool, router: createRouter(), backend, heldBy: parts.heldBy ?? createHeldBy() });
      writeResult(io, json, stats, () => describe(io, stats));
      return EXIT.ok;
    }),
  );
}

function describe(io: Io, stats: OutboxStats): string {
  const { backlog } = stats;
  const oldest = backlog.oldestDueSeconds === null ? "" : `, the oldest for ${formatSeconds(backlog.oldestDueSeconds)}`;
  return [
    describeMode(stats),
    describeLines(stats),
    `${backlog.due} due${oldest}. ${backlog.expiredClaims} claims expired.`,
    "",
    table(
      io,
      ["ROUTE", "TO", ...OUTBOX_STATUSES],
      [
        ...stats.byRoute.map((row) => [
          row.route ?? "(no rule)",
          row.target ?? "-",
          ...OUTBOX_STATUSES.map((status) => String(row.counts[status])),
        ]),
        ["all", "", ...OUTBOX_STATUSES.map((status) => String(stats.byStatus[status]))],
      ],
    ),
    "",
    table(
      io,
      ["QUEUE", "CONSUMERS", "WAITING", "ACTIVE", "DELAYED", "FAILED"],
      stats.queues.map((queue) => queueRow(io, queue)),
    ),
    "",
    describeDead(io, stats),
    "",
    describeUnfinished(io, stats),
    "",
    describeHeldRoutes(io, stats),
    "",
    describeProcesses(io, stats),
  ].join("\n");
}

function describeMode({ mode }: OutboxStats): string {
  const change =
    mode.mode === mode.desired ? "" : `, changing to ${mode.desired}: nobody claims until ${count(mode.openClaims, "earlier claim")} ended`;
  return [`Drainer ${mode.mode} (epoch ${mode.epoch})${change}.`, ...mode.whyNotPull.map((reason) => `  not pull: ${reason}`)].join("\n");
}

function describeLines({ blockedLines }: OutboxStats): string {
  const blocked = BLOCK_CAUSES.filter((cause) => blockedLines[cause] > 0);
  if (blocked.length === 0) return "No event waits for an older one of its record.";
  const total = blocked.reduce((sum, cause) => sum + blockedLines[cause], 0);
  return `${count(total, "line")} blocked: ${blocked.map((cause) => `${blockedLines[cause]} ${cause}`).join(", ")} (\`outbox blocked\`).`;
}

function queueRow(io: Io, queue: QueueStats): string[] {
  const consumers = whoServes(io, queue);
  if (queue.counts === null) return [queue.queue, consumers, shorten(queue.error, 60), "", "", ""];
  const { waiting, active, delayed, failed } = queue.counts;
  return [queue.queue, consumers, ...[waiting, active, delayed, failed].map(String)];
}

function whoServes(io: Io, { consumers, missing }: QueueStats): string {
  const names = missing.join(", ");
  if (consumers === 0) return paint(io, "yellow", names === "" ? "no consumer" : `no consumer: ${names}`);
  return names === "" ? String(consumers) : `${consumers} ${paint(io, "yellow", `without ${names}`)}`;
}

function describeDead(io: Io, stats: OutboxStats): string {
  if (stats.dead.length === 0) return "No consumer has given up on a job.";
  const rows = stats.dead.map((row) => [row.consumer, String(row.jobs), formatTime(row.newestAt), shorten(row.newestDetail, 100)]);
  return table(io, ["DEAD JOBS OF", "JOBS", "NEWEST", "ITS ERROR"], rows);
}

function describeUnfinished(io: Io, stats: OutboxStats): string {
  if (stats.held.length === 0) return "Every DONE event has the receipts its route expects.";
  const rows = stats.held.map((row) => [row.consumer, String(row.events), String(row.dead), formatTime(row.oldestProcessedAt)]);
  return table(io, ["NO RECEIPT OF", "DONE EVENTS", "OF THEM DEAD", "OLDEST HAND-OFF"], rows);
}

/** The routes whose consumers are out of scope: pull workers put their events off, the dispatcher hands them off. */
function describeHeldRoutes(io: Io, { heldRoutes, heldBehind, mode }: OutboxStats): string {
  if (heldRoutes.length === 0) return "No route is held: every consumer is in scope.";
  const rows = heldRoutes.map((row) => [
    row.route,
    row.consumer,
    String(row.events),
    formatTime(row.oldestAt),
    row.since,
    shorten(row.reason, 100),
  ]);
  const behind = heldBehind === 0 ? [] : [`${count(heldBehind, "event")} of other routes put off behind them (\`outbox blocked\`).`];
  const batch = mode.mode === "batch" ? ["The batch dispatcher runs and hands them off; pull workers would hold them."] : [];
  return [table(io, ["HELD ROUTE", "OUT OF SCOPE", "EVENTS", "OLDEST", "SINCE", "BECAUSE"], rows), ...behind, ...batch].join("\n");
}

function describeProcesses(io: Io, stats: OutboxStats): string {
  if (stats.processes.length === 0) return "No live process: start worker-general and worker-mail.";
  const rows = stats.processes.map((entry) => [
    entry.app,
    `${entry.host}:${entry.pid}`,
    entry.drains ? `votes ${entry.vote}` : "no",
    formatTime(entry.startedAt),
    entry.queues.join(" "),
  ]);
  return table(io, ["PROCESS", "WHERE", "DRAINS", "SINCE", "QUEUES"], rows);
}
