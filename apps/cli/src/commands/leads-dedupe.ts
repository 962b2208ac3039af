import type { Database } from "@toolctrl/db/client";
import { dedupeOpportunities, type DedupeReport } from "@toolctrl/domain/leads";
import type { Command } from "commander";
import { watchInterrupt } from "../bulk/watch-interrupt.ts";
import type { Invocation, Registrar } from "../command.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { addAuditOptions, DEFAULT_LIMIT, type AuditOptions } from "../options/action-options.ts";
import { integerOption } from "../options/parse-options.ts";
import { confirm } from "../output/confirm.ts";
import { count } from "../output/format-values.ts";
import { createProgress } from "../output/progress.ts";
import { table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

interface DedupeCommandOptions extends AuditOptions {
  readonly limit?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Leads that the answer for people names; --json has all of them. */
const SHOWN_LEADS = 50;

/** `leads dedupe`: merges the opportunities of leads that were converted more than once; the unique key can be built then. */
export function registerLeadsDedupe(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("dedupe")
    .description("merge the opportunities of leads that were converted more than once: the oldest stays and gets the notes of the others")
    .option("--limit <n>", `at most this many leads (default ${DEFAULT_LIMIT})`, integerOption(1, 1_000_000))
    .option("--dry-run", "say what would be merged, change nothing")
    .option("--yes", "do not ask");
  registrar.handle<DedupeCommandOptions>(addAuditOptions(command), (invocation) =>
    withDatabase(invocation.io, ({ prisma }) => dedupe(prisma, invocation)),
  );
}

async function dedupe(prisma: Database["prisma"], { io, json, options }: Invocation<DedupeCommandOptions>): Promise<ExitCode> {
  const { actor, reason = null, limit = DEFAULT_LIMIT, dryRun = false } = options;
  const preview = await dedupeOpportunities(prisma, { dryRun: true, limit, actor, reason });
  if (dryRun || preview.leads.length === 0) {
    writeResult(io, json, { action: "leads.dedupe", dryRun, ...preview }, () => describe(io, "Would merge", preview));
    return EXIT.ok;
  }
  io.err.write(`${describe(io, "Would merge", preview)}\n`);
  await confirm(io, `Merge ${opportunities(preview.merged)}?`, { yes: options.yes === true, bulk: true });
  const progress = createProgress(io, "leads merged", preview.leads.length);
  const interrupt = watchInterrupt();
  try {
    const { signal } = interrupt;
    const report = await dedupeOpportunities(prisma, { dryRun: false, limit, actor, reason, signal, onProgress: progress.step });
    writeResult(io, json, { action: "leads.dedupe", dryRun: false, ...report }, () => describe(io, "Merged", report));
    const cutOff = report.more && options.limit === undefined;
    return signal.aborted || cutOff ? EXIT.partial : EXIT.ok;
  } finally {
    progress.end();
    interrupt.stop();
  }
}

function describe(io: Io, verb: string, { leads, merged, more, uniqueKey }: DedupeReport): string {
  const advice = uniqueKey === "valid" ? "" : ` The unique key is ${uniqueKey}: \`toolctrl-cli db migrate\` builds it.`;
  if (leads.length === 0) return `Nothing to merge: no lead has two opportunities.${advice}`;
  const rows = leads
    .slice(0, SHOWN_LEADS)
    .map((lead) => [lead.tenantId, lead.sourceLeadId, lead.keptNumber, lead.mergedNumbers.join(", "), String(lead.notes)]);
  const lines = [table(io, ["TENANT", "LEAD", "KEPT", "MERGED INTO IT", "NOTES MOVED"], rows)];
  if (leads.length > SHOWN_LEADS) lines.push(`… and ${count(leads.length - SHOWN_LEADS, "more lead")}.`);
  lines.push(`${verb} ${opportunities(merged)} of ${count(leads.length, "lead")}.${more ? " There are more." : ""}${advice}`);
  return lines.join("\n");
}

function opportunities(amount: number): string {
  return `${amount} ${amount === 1 ? "opportunity" : "opportunities"}`;
}
