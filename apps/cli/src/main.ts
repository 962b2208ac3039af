#!/usr/bin/env node
import { processIo } from "./io.ts";
import { runCli } from "./run-cli.ts";

// `… | head` closes our output early: that is the reader's choice, not a fault of ours.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit(0);
});

async function main(): Promise<void> {
  process.exitCode = await runCli(process.argv.slice(2), processIo());
}

void main();
