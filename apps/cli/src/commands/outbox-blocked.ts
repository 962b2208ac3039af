import { listBlockedLines, type BlockedLine, type BlockedLines } from "@toolctrl/outbox-drainer/stats";
import type { Command } from "commander";
import type { Registrar } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { Io } from "../io.ts";
import { integerOption, textOption } from "../options/parse-options.ts";
import { formatSeconds, formatTime, shorten } from "../output/format-values.ts";
import { paint, table } from "../output/table.ts";
import { writeResult } from "../output/write-result.ts";
import { withDatabase } from "../resources.ts";

const AFTER_HELP = `
Causes:
  parked     the head failed for good and its route parks: \`outbox requeue <head>\` tries it again first, \`outbox skip <head>\` goes on without it
  held       the head's route is held (\`outbox stats\`): it leaves through the dispatcher, or when its consumer comes into scope
  backoff    the head failed and waits for its next try
  in-flight  the head is claimed
`;

/** `outbox blocked`: the records whose events wait for an older one, and for which. */
export function registerOutboxBlocked(parent: Command, registrar: Registrar): void {
  const command = parent
    .command("blocked")
    .description("the records whose events wait for an older one, oldest head first: why, for how long, and how many wait")
    .option("--tenant <id>", "tenant", textOption(200))
    .option("--limit <n>", "at most this many", integerOption(1, 1000), 50)
    .addHelpText("after", AFTER_HELP);
  registrar.handle<{ tenant?: string; limit: number }>(command, ({ io, json, options }) =>
    withDatabase(io, async ({ pool }) => {
      const found = await listBlockedLines(pool, { tenantId: options.tenant ?? null, limit: options.limit });
      writeResult(io, json, found, () => describe(io, found));
      return EXIT.ok;
    }),
  );
}

function describe(io: Io, found: BlockedLines): string {
  if (!found.keyed) return "This database has no record keys yet, so no event waits for another: `toolctrl-cli db migrate`.";
  if (found.lines.length === 0) return "No event waits for an older one of its record.";
  const text = table(
    io,
    ["CAUSE", "RECORD", "TENANT", "HEAD", "TYPE", "AGE", "WAITING", "UNTIL", "ERROR"],
    found.lines.map((line) => row(io, line)),
  );
  return [
    text,
    ...(found.mode === "batch" ? ["", "The batch dispatcher runs: it does not hold these events back, pull workers would."] : []),
    ...(found.partial ? ["", "There are more: narrow with --tenant or raise --limit."] : []),
  ].join("\n");
}

const STYLES = { parked: "red", held: "magenta", backoff: "yellow", "in-flight": "cyan" } as const;

function row(io: Io, line: BlockedLine): string[] {
  return [
    paint(io, STYLES[line.cause], line.cause),
    shorten(line.recordKey, 60),
    line.tenantId,
    line.headId,
    line.headType,
    formatSeconds(line.ageSeconds),
    line.depth >= 1000 ? "1000+" : String(line.depth),
    formatTime(line.until),
    shorten(line.headErrorCode, 40),
  ];
}
