import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runStack } from "./stack.ts";
import { parseOptions, USAGE } from "./options.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

try {
  const options = parseOptions(process.argv.slice(2));
  if (options === "help") process.stdout.write(`${USAGE}\n`);
  else await runStack(root, options);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}\n`);
  process.exitCode = 2;
}
