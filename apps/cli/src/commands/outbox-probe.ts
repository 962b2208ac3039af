import { createHeldBy } from "@toolctrl/consumer-map/held";
import type { Database } from "@toolctrl/db/client";
import { createRouter, ROUTES, type RouteRule } from "@toolctrl/event-router/router";
import { CodedError } from "@toolctrl/foundation/errors";
import type { HeldBy } from "@toolctrl/outbox-drainer/held";
import { publishProbes, watchProbes, type ProbeProgress, type ProbeReceipt } from "@toolctrl/outbox-drainer/probe";
import { traceEvent } from "@toolctrl/outbox-drainer/stats";
import type { QueueBackend } from "@toolctrl/queue/port";
import type { Command } from "commander";
import { watchInterrupt } from "../bulk/watch-interrupt.ts";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import { hintDrainers } from "../hint-drainers.ts";
import type { Io } from "../io.ts";
import { osUser } from "../options/action-options.ts";
import { durationOption, textOption } from "../options/parse-options.ts";
import { count } from "../output/format-values.ts";
import { paint, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withQueue } from "../resources.ts";

interface ProbeOptions {
  readonly route?: string[];
  readonly timeout: number;
}

/** What became of the probe of a route. Times count from its publishing, by the database's clock. */
interface ProbedRoute {
  readonly route: string;
  /** A queue, or `database`. */
  readonly target: string;
  readonly eventId: string;
  readonly passed: boolean;
  readonly handOffMs: number | null;
  readonly receipts: readonly ProbeReceipt[];
  readonly missing: readonly string[];
  /** Where the probe is, and what to do; null when it has passed. */
  readonly why: string | null;
  readonly next: string | null;
}

const AFTER_HELP = `
A probe is an event of the tenant toolctrl-probe that no handler is run for: it is published, drained, handed off, claimed and receipted like any
other, by the processes that run, and sends no mail, calls no one and writes no row of a product's. It shows that events move, not
that the mail server answers.

Exit codes: 0 when every probe has come through, else 1; the names of what did not come are in the answer.
`;

/** `outbox probe`: whether events of every route come through now, on this installation, and how long that takes. */
export function registerOutboxProbe(parent: Command, registrar: Registrar, parts: { readonly heldBy?: HeldBy }): void {
  const command = parent
    .command("probe")
    .description("publish an event without an effect for each route, and wait until it is handed off and its consumers have receipts")
    .option("--route <prefix>", "only this route, by its prefix; may be given several times", collectRoutes)
    .addOption(durationOption("--timeout <duration>", "how long to wait for all of them", "30s"))
    .addHelpText("after", AFTER_HELP);
  registrar.handle<ProbeOptions>(command, ({ io, json, options }) => {
    const rules = rulesOf(options);
    return withQueue(io, "refuse", async ({ pool }, backend) => {
      const routes = await probe({ pool, backend, heldBy: parts.heldBy ?? createHeldBy() }, rules, options.timeout);
      const passed = routes.every((each) => each.passed);
      writeResult(io, json, { passed, routes }, () => describe(io, routes));
      return passed ? EXIT.ok : EXIT.failure;
    });
  });
}

function collectRoutes(text: string, before: string[] = []): string[] {
  return [...before, textOption(200)(text)];
}

/** @throws CodedError `CLI.ARGUMENT` */
function rulesOf({ route: wanted }: ProbeOptions): readonly RouteRule[] {
  const unknown = wanted?.find((prefix) => !ROUTES.some((rule) => rule.prefix === prefix));
  if (unknown === undefined) return wanted === undefined ? ROUTES : ROUTES.filter(({ prefix }) => wanted.includes(prefix));
  const known = ROUTES.map(({ prefix }) => prefix).join(", ");
  throw new CodedError("CLI.ARGUMENT", `expected --route to be one of ${known}, got ${unknown}`);
}

type ProbeDeps = { readonly pool: Database["pool"]; readonly backend: QueueBackend; readonly heldBy: HeldBy };

async function probe(deps: ProbeDeps, rules: readonly RouteRule[], timeoutMs: number): Promise<ProbedRoute[]> {
  const interrupt = watchInterrupt();
  try {
    const { probes } = await publishProbes(deps.pool, rules, osUser());
    await hintDrainers(deps.pool);
    const progress = await watchProbes(deps.pool, probes, { timeoutMs, signal: interrupt.signal });
    return await Promise.all(progress.map((each) => probedOf(deps, each)));
  } finally {
    interrupt.stop();
  }
}

async function probedOf({ pool, backend, heldBy }: ProbeDeps, progress: ProbeProgress): Promise<ProbedRoute> {
  const { eventId, passed, handOffMs, receipts, missing, route } = progress;
  const target = route.target === "queue" ? route.queue : "database";
  const told = { route: route.prefix, target, eventId, passed, handOffMs, receipts, missing };
  if (passed) return { ...told, why: null, next: null };
  const { verdict } = await traceEvent({ db: pool, router: createRouter(), backend, heldBy }, eventId);
  return { ...told, why: `${verdict.state}: ${verdict.why}`, next: verdict.next };
}

function describe(io: Io, routes: readonly ProbedRoute[]): string {
  const rows = routes.flatMap((each) => {
    const receipts = each.receipts.map(({ consumer, ms }) => `${consumer} ${formatMs(ms)}`).join(", ");
    const state = each.passed ? paint(io, "green", "passed") : paint(io, "red", "not passed");
    const row = [each.route, each.target, state, each.handOffMs === null ? "-" : formatMs(each.handOffMs), receipts || "-"];
    return each.passed ? [row] : [row, ...complaintsOf(each).map((line) => ["", "", "", "", line])];
  });
  return [table(io, ["ROUTE", "TO", "PROBE", "HAND-OFF", "RECEIPTS"], rows), "", verdictOf(routes)].join("\n");
}

function complaintsOf({ missing, why, next, eventId }: ProbedRoute): string[] {
  return [
    ...(missing.length === 0 ? [] : [`no receipt of ${missing.join(", ")}`]),
    `${eventId} is ${why ?? "on its way"}`,
    ...(next === null ? [] : [`next: ${next}`]),
  ];
}

function verdictOf(routes: readonly ProbedRoute[]): string {
  const late = routes.filter(({ passed }) => !passed);
  if (late.length === 0) return `Events of ${count(routes.length, "route")} come through.`;
  return `${late.length} of ${count(routes.length, "probe")} did not come through: ${late.map(({ route }) => route).join(", ")}`;
}

function formatMs(ms: number): string {
  return `${Math.round(ms)} ms`;
}
