import { CommanderError } from "commander";
import { asksForCompletions, writeCompletions } from "./commands/complete.ts";
import { exitCodeOfError } from "./exit-code-of-error.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Io } from "./io.ts";
import { writeError } from "./output/write-error.ts";
import { createProgram, type CliParts } from "./program.ts";

/** Runs one command line (without node and script). Never throws: what goes wrong is written, and its exit code given back. */
export async function runCli(args: readonly string[], io: Io, parts: CliParts = {}): Promise<ExitCode> {
  let code: ExitCode = EXIT.ok;
  const program = createProgram(io, (exitCode) => void (code = exitCode), parts);
  try {
    if (asksForCompletions(args)) {
      await writeCompletions(program, args.slice(2));
      return code;
    }
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    const json = args.includes("--json");
    // commander has written its own message; a script that reads JSON gets its document all the same.
    if (!(error instanceof CommanderError)) writeError(io, json, error);
    else if (json && error.exitCode !== 0) writeUsageError(io, error);
    return exitCodeOfError(error);
  }
}

function writeUsageError(io: Io, error: CommanderError): void {
  // Without a command commander writes the help, and calls its error after that.
  const message = error.code === "commander.help" ? "expected a command, got none" : error.message.replace(/^error: /, "");
  const document = { error: { code: "CLI.ARGUMENT", message, fix: "Run the command with --help.", facts: { commander: error.code } } };
  io.out.write(`${JSON.stringify(document, null, 2)}\n`);
}
