#!/usr/bin/env node
import { processIo } from "./io.ts";
import { runCli } from "./run-cli.ts";

// `… | head` closes our output early: that is the reader's choice, not a fault of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

/** How long what is still open may hold the process after all is written, ms. */
const GOODBYE_MS = 500;

async function main(): Promise<void> {
  process.exitCode = await runCli(process.argv.slice(2), processIo());
  // A server that hangs hears no goodbye, and its connection would hold the process for as long as it stands.
  const end = (): void => void setTimeout(() => process.exit(), GOODBYE_MS).unref();
  process.stdout.write("", () => process.stderr.write("", end));
}

void main();
