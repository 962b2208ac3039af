import { writeFile } from "node:fs/promises";
import { runBench } from "./bench.ts";
import { parseOptions, USAGE, type BenchOptions } from "./options.ts";
import { tableOf } from "./report.ts";

const progress = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(options: BenchOptions): Promise<void> {
  const report = await runBench(options, progress);
  const json = `${JSON.stringify(report, null, 2)}\n`;
  if (options.out !== undefined) await writeFile(options.out, json);
  if (options.json) process.stdout.write(json);
  (options.json ? process.stderr : process.stdout).write(`${tableOf(report)}\n`);
}

function readOptions(): BenchOptions | "help" | undefined {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

const options = readOptions();
if (options === "help") process.stdout.write(`${USAGE}\n`);
else if (options !== undefined) await main(options);
