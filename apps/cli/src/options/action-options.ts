import { userInfo } from "node:os";
import { Option, type Command } from "commander";
import { integerOption, textOption } from "./parse-options.ts";

export interface AuditOptions {
  readonly actor: string;
  readonly reason?: string;
}

export interface ActionOptions extends AuditOptions {
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly limit?: number;
  readonly batchSize: number;
}

/** Events a bulk takes when no --limit says otherwise. */
export const DEFAULT_LIMIT = 10_000;

/** Adds the options of every command that changes events. */
export function addActionOptions(command: Command): Command {
  return addAuditOptions(
    command
      .option("--limit <n>", `bulk: at most this many events (default ${DEFAULT_LIMIT})`, integerOption(1, 10_000_000))
      .option("--batch-size <n>", "bulk: events per transaction", integerOption(1, 1000), 100)
      .option("--dry-run", "say what would happen, change nothing")
      .option("--yes", "do not ask"),
  );
}

/** Adds the options that fill the audit row. */
export function addAuditOptions(command: Command): Command {
  return command
    .addOption(personOption("--actor <name>", "who does it, for the audit row"))
    .option("--reason <text>", "why, for the audit row", textOption(2000));
}

/** An option that names a person; without it the user of the operating system is meant. */
export function personOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser(textOption(200)).default(osUser(), "the user of the operating system");
}

/** The user of the operating system: who acts, unless said otherwise. */
export function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A container's user may have no entry in its passwd file.
    return `uid:${process.getuid?.() ?? "unknown"}`;
  }
}
