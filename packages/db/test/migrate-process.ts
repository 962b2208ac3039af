// One replica that migrates at its start, as a process. With PAUSE_AT it stops itself in the middle of that migration.
import { writeSync } from "node:fs";
import { migrate } from "../src/migrate.ts";

const { DATABASE_URL: url = "", PAUSE_AT: pauseAt } = process.env;
const info = (fields: object): void => {
  if (pauseAt === undefined || !JSON.stringify(fields).includes(`Applying \`${pauseAt}`)) return;
  writeSync(1, "midway\n");
  // As a whole: the process keeps its lock and its open transaction until it is killed or continued.
  process.kill(process.pid, "SIGSTOP");
};
try {
  const { applied } = await migrate({ url, log: { info, warn: info, error: info } });
  process.stdout.write(`healthy ${applied.length}\n`);
} catch (error) {
  process.stdout.write(`failed ${String(error)}\n`);
  process.exitCode = 1;
}
