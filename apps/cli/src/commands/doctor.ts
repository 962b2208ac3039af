import type { CheckResult, CheckState } from "@toolctrl/doctor/check";
import { isCodedError } from "@toolctrl/foundation/errors";
import { retryHorizonOf } from "@toolctrl/worker/settings";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { readCliDoctorEnv, type CliDoctorEnv } from "../env.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { durationOption } from "../options/parse-options.ts";
import { count } from "../output/format-values.ts";
import { paint, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withInstallation } from "../resources.ts";

interface DoctorOptions {
  readonly maxTransaction: number;
}

const AFTER_HELP = `
States:
  ok       holds
  warn     works, and deserves a look
  fail     is broken, or will be
  unknown  nobody may ask (a hosted Redis without CONFIG and INFO), or no answer came; it fails nothing

Exit codes: 0 when nothing fails, else 1. Nothing is changed.
Give it the workers' environment: what it says of settings it says of those it was given.
`;

/** `doctor`: one page of what can be wrong with an installation, with what to do about it. */
export function registerDoctor(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("doctor")
    .description(
      "one page of checks, each with what to do: database, queue's server, clocks, settings, drainers, consumers, retention, receipts",
    )
    .addOption(durationOption("--max-transaction <duration>", "how long a transaction of the database may be open", "5m"))
    .addHelpText("after", AFTER_HELP);
  registrar.handle<DoctorOptions>(command, async ({ io, json, options }) => {
    const checks = await examine(io, options);
    const healthy = !checks.some(({ state }) => state === "fail");
    writeResult(io, json, { healthy, checks }, () => describe(io, checks));
    return healthy ? EXIT.ok : EXIT.failure;
  });
}

async function examine(io: Io, options: DoctorOptions): Promise<readonly CheckResult[]> {
  const env = readEnvironment();
  if ("state" in env) return [env];
  const { createChecks, runChecks } = await import("@toolctrl/doctor/doctor");
  const settings = {
    url: env.DATABASE_URL,
    directUrl: env.DATABASE_DIRECT_URL,
    horizon: retryHorizonOf(env),
    retentionHours: env.OUTBOX_DONE_RETENTION_HOURS,
    maxTransactionMs: options.maxTransaction,
  };
  return withInstallation(io, env, (pool, backend) => runChecks(createChecks({ pool, backend, ...settings })));
}

/** A bad environment is a finding like any other; without a good one there is nothing else to ask. */
function readEnvironment(): CliDoctorEnv | CheckResult {
  try {
    return readCliDoctorEnv();
  } catch (error) {
    if (!isCodedError(error) || error.code !== "ENV.INVALID") throw error;
    return { name: "environment", state: "fail", said: error.message, fix: error.fix };
  }
}

const STYLES = { ok: "green", warn: "yellow", fail: "red", unknown: "yellow" } as const satisfies Record<CheckState, string>;

function describe(io: Io, checks: readonly CheckResult[]): string {
  const rows = checks.flatMap(({ name, state, said, fix }) => [
    [name, paint(io, STYLES[state], state), said],
    ...(fix === null ? [] : [["", "", `fix: ${fix}`]]),
  ]);
  return [table(io, ["CHECK", "STATE", "FOUND"], rows), "", verdictOf(checks)].join("\n");
}

function verdictOf(checks: readonly CheckResult[]): string {
  const of = (state: CheckState): number => checks.filter((check) => check.state === state).length;
  const parts = [
    ...(of("fail") === 0 ? [] : [`${of("fail")} failed`]),
    ...(of("warn") === 0 ? [] : [`${of("warn")} to look at`]),
    ...(of("unknown") === 0 ? [] : [`${of("unknown")} unknown`]),
  ];
  return parts.length === 0
    ? `All is well: ${count(checks.length, "check")}.`
    : `${parts.join(", ")}, of ${count(checks.length, "check")}.`;
}
