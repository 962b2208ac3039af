#!/usr/bin/env node
import { processIo } from "./io.ts";
import { runCli } from "./run-cli.ts";

async function main(): Promise<void> {
  process.exitCode = await runCli(process.argv.slice(2), processIo());
}

void main();
