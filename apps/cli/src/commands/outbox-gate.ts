import { createRolloutGate } from "@toolctrl/consumer-map/gate";
import type { MapProof } from "@toolctrl/consumer-map/proof";
import { describeError } from "@toolctrl/foundation/errors";
import { askConditions, type CheckedCondition } from "@toolctrl/outbox-drainer/switch";
import type { QueueBackend } from "@toolctrl/queue/port";
import { retryHorizonOf } from "@toolctrl/worker/settings";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { readCliGateEnv } from "../env.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { count } from "../output/format-values.ts";
import { paint, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withQueue } from "../resources.ts";

interface GateReport {
  /** Whether nothing is red, and everything could be asked. */
  readonly green: boolean;
  readonly conditions: readonly CheckedCondition[];
  /** Why the queue's server could not be asked; null when it answered. */
  readonly queueError: string | null;
}

const AFTER_HELP = `
States:
  green    holds
  red      does not hold: pull workers stay off
  unknown  the server may not be asked (a hosted Redis without CONFIG and INFO): look it up yourself; it holds nothing back

Exit codes: 0 green, 6 red, 1 when the database or the queue's server could not be asked, 2 when the queue is not that of the live processes.
Give it the workers' OUTBOX_RESULT_TTL_SECONDS, OUTBOX_RECEIVER_*, OUTBOX_MAX_RETRIES and OUTBOX_LEASE_MS where they are not the defaults.
`;

/** `outbox gate`: whether pull workers may run, condition by condition; the switch asks the same in every worker. */
export function registerOutboxGate(parent: Command, registrar: Registrar, parts: { readonly proveMap?: () => Promise<MapProof> }): void {
  const command = parent
    .command("gate")
    .description(
      "whether pull workers may run: the proof of the consumer map, record keys, schema, result TTL, Redis; exit code 6 when not",
    )
    .addHelpText("after", AFTER_HELP);
  registrar.handle(command, ({ io, json }) => {
    const env = readCliGateEnv();
    const gate = createRolloutGate(parts);
    return withQueue(
      io,
      "refuse",
      async ({ pool }, backend) => {
        const conditions = await askConditions(gate({ db: pool, backend, horizon: retryHorizonOf(env), votes: true }));
        const queueError = await whyAway(backend);
        const report = { green: queueError === null && !conditions.some(isRed), conditions, queueError };
        writeResult(io, json, report, () => describe(io, report));
        return exitCodeOf(report);
      },
      env,
    );
  });
}

/** Conditions take an outage for "unknown", as it must not change the mode; here it is no answer. */
async function whyAway(backend: Pick<QueueBackend, "ping">): Promise<string | null> {
  try {
    await backend.ping();
    return null;
  } catch (error) {
    return describeError(error, 300);
  }
}

function exitCodeOf({ conditions, queueError }: GateReport): ExitCode {
  if (conditions.some(isRed)) return EXIT.red;
  return queueError === null ? EXIT.ok : EXIT.failure;
}

function isRed({ state }: CheckedCondition): boolean {
  return state === "red";
}

const STYLES = { green: "green", red: "red", unknown: "yellow" } as const;

function describe(io: Io, report: GateReport): string {
  const rows = report.conditions.flatMap((condition) => {
    const { name, state } = condition;
    const [first = "", ...rest] = linesOf(condition);
    return [[name, paint(io, STYLES[state], state), first], ...rest.map((line) => ["", "", line])];
  });
  return [table(io, ["CONDITION", "STATE", "WHY, AND WHAT TO DO"], rows), "", verdictOf(report)].join("\n");
}

/** The reasons, and what to do about them; once, where several of them need the same. */
function linesOf({ reasons }: CheckedCondition): string[] {
  return reasons.flatMap(({ why, fix }, index) => (reasons[index + 1]?.fix === fix ? [why] : [why, `next: ${fix}`]));
}

function verdictOf({ green, conditions, queueError }: GateReport): string {
  const red = conditions.filter(isRed).length;
  const away = queueError === null ? [] : [`The queue's server could not be asked: ${queueError}.`];
  if (red > 0) return [...away, `Red: ${count(red, "condition")} to mend before pull workers may run.`].join("\n");
  if (!green) return away.join("");
  const unknown = conditions.filter(({ state }) => state === "unknown").length;
  const byHand = unknown === 0 ? "" : ` ${count(unknown, "answer")} to look up by hand.`;
  return `Green: pull workers run as soon as every live process that drains votes for them (OUTBOX_PULL_WORKER=true).${byHand}`;
}
