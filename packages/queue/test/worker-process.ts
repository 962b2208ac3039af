import { parseArgs } from "node:util";
import { createLogger } from "@toolctrl/runtime/logger";
import { createQueueBackend } from "../src/backend.ts";
import type { DeliveredJob, JobOutcome } from "../src/port.ts";

// A worker in a process of its own, told what to do by each job's data: `blockMs` blocks the event loop. `--hangs`: no job ever ends.
// `--later`: takes jobs from SIGUSR2 on, so that a slow start of the process decides nothing.
const { values } = parseArgs({
  options: {
    options: { type: "string", default: "{}" },
    hangs: { type: "boolean", default: false },
    later: { type: "boolean", default: false },
  },
});
const options = JSON.parse(values.options) as { kind: "redis" | "postgres"; prefix: string; attempts: number; backoffMs: number };
const log = createLogger({ app: "worker", level: "warn", destination: { write: (line) => void process.stderr.write(line) } });
const backend = await createQueueBackend({ ...options, log });

function say(...words: unknown[]): void {
  process.stdout.write(`${words.join(" ")}\n`);
}

async function handle(job: DeliveredJob): Promise<JobOutcome> {
  const { blockMs } = job.data as { blockMs?: number };
  say("start", job.id, job.starts, job.failures);
  job.signal.addEventListener("abort", () => say("aborted", job.id, (job.signal.reason as { code?: string }).code));
  if (values.hangs) return new Promise(() => undefined);
  if (blockMs !== undefined && job.starts === 1) {
    const until = performance.now() + blockMs;
    while (performance.now() < until);
    // Lets the timers run that the block has held up, as a handler that goes on to its next await would.
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  say("end", job.id, job.starts);
  return { kind: "done" };
}

function work(): void {
  backend.work("outbox.audit", handle, {
    concurrency: 1,
    onDead: async (job, error) => say("dead", job.id, (error as { code?: string }).code),
    onStalled: (job) => say("stalled", job.id),
  });
}

if (values.later) process.once("SIGUSR2", work);
else work();
process.on("SIGTERM", () => void backend.close(1000).then(() => process.exit(0)));
say("ready");
