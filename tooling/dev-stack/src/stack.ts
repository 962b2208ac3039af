import { createDatabase } from "@toolctrl/db/client";
import { migrate } from "@toolctrl/db/migrate";
import { createWebhookEndpoint } from "@toolctrl/domain/webhook-endpoints";
import { createQueueBackend } from "@toolctrl/queue/backend";
import { createLogger } from "@toolctrl/runtime/logger";
import { runUntilSignal, type Scope } from "@toolctrl/runtime/run";
import { readStackEnv } from "./env.ts";
import type { StackOptions } from "./options.ts";
import { preparePlugins } from "./cases/plugins.ts";
import { prepareForm } from "./cases/sent-form.ts";
import { prepareWorkflows } from "./prepare-workflows.ts";
import { createProgress, type Progress } from "./progress.ts";
import { runSample, type SampleRun } from "./sample-run.ts";
import { createSampleSchema } from "./sample-schema.ts";
import { startServers, type Servers } from "./servers.ts";
import { startSinks, type Sinks } from "./sinks.ts";
import { renderSummary } from "./summary.ts";
import { TENANTS } from "./traffic.ts";
import { readSecretsKey, startWorkers, type Worker } from "./workers.ts";

const GRACE_MS = 20_000;

/** Starts everything, runs the sample traffic, shows what came of it; then ends, or stays up until Ctrl-C. */
export async function runStack(root: string, options: StackOptions): Promise<never> {
  const log = createLogger({ app: "dev-stack", level: "fatal" });
  const progress = createProgress(process.stderr);
  // The bootstrap holds the other end: when it is gone, however it went, nobody is left to stop us.
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  return runUntilSignal(
    async (scope) => {
      try {
        const run = await startAndRun(scope, root, options, progress);
        report(run, options, progress);
        const failed = run.complaints.length > 0;
        if (options.once || failed) scope.finish(failed ? 1 : 0);
      } catch (error) {
        if (scope.isStopping()) return;
        progress.say(`\nThe stack could not do its work: ${error instanceof Error ? error.message : String(error)}`);
        scope.finish(1);
      }
    },
    { graceMs: GRACE_MS, log },
  );
}

async function startAndRun(scope: Scope, root: string, options: StackOptions, progress: Progress): Promise<SampleRun> {
  const { dataDir } = options;
  const env = readStackEnv();
  progress.say("Starting the servers …");
  const servers = await startServers(scope, env, dataDir);
  for (const line of servers.told) progress.say(`  ${line}`);
  const { applied } = await migrate({ url: servers.databaseUrl });
  progress.say(`  Migrations ${applied.length === 0 ? "nothing to do" : `${applied.length} applied`}`);
  const sinks = scope.add("sinks", await startSinks());
  const database = scope.add(
    "database",
    await createDatabase({ url: servers.databaseUrl, poolMax: 5, app: "sample-product", wakeup: true }),
  );
  await prepareSample(database, sinks, await readSecretsKey(dataDir));
  const backend = scope.add("queue", await openBackend(servers, env.QUEUE_PREFIX));
  const mode = options.mode ?? (env.OUTBOX_PULL_WORKER === "true" ? "pull" : "batch");
  if (mode === "pull") progress.say("  Drainer    pull workers; only this stack opens the rollout gate for them");
  const workers = await startWorkers(scope, { root, dataDir, servers, sinks, mode });
  showLinks(progress, servers, workers);
  return runSample({ ...options, database, backend, sinks, progress, workerEnded: Promise.race(workers.map((worker) => worker.ended)) });
}

function openBackend(servers: Servers, prefix: string) {
  return createQueueBackend({
    kind: servers.backend,
    redisUrl: servers.redisUrl,
    databaseUrl: servers.databaseUrl,
    prefix,
    attempts: 1,
    backoffMs: 1000,
    log: createLogger({ app: "dev-stack", level: "fatal" }),
  });
}

type Database = Awaited<ReturnType<typeof createDatabase>>;

/** The sink listens on a new port each time, so its endpoints and the plugins there are made anew. */
async function prepareSample(database: Database, sinks: Sinks, secretsKey: string): Promise<void> {
  await createSampleSchema(database.pool);
  await database.prisma.$transaction(async (tx) => {
    await tx.webhookEndpoint.deleteMany({ where: { tenantId: { in: [...TENANTS] } } });
    for (const tenantId of TENANTS) {
      await createWebhookEndpoint(tx, { tenantId, url: sinks.webhookUrl, eventPrefixes: [], secretsKey });
      await preparePlugins(tx, tenantId, sinks.pluginUrl, secretsKey);
      await prepareForm(tx, tenantId);
    }
  });
  for (const tenantId of TENANTS) await prepareWorkflows(database, sinks, tenantId);
}

function showLinks(progress: Progress, servers: Servers, workers: readonly Worker[]): void {
  for (const { app, healthUrl } of workers) progress.say(`  ${app.padEnd(14)} ${healthUrl}/readyz   ${healthUrl}/metrics`);
  // The queue's variables too: stats and trace would look into another queue without them.
  const queue = servers.redisUrl === undefined ? "QUEUE_BACKEND=postgres" : `REDIS_URL=${servers.redisUrl}`;
  progress.say(`  Operator CLI   DATABASE_URL=${servers.databaseUrl} ${queue} pnpm toolctrl-cli outbox stats`);
}

function report(run: SampleRun, options: StackOptions, progress: Progress): void {
  for (const line of run.complaints.slice(0, 20)) progress.say(line);
  if (options.json) process.stdout.write(`${JSON.stringify(run.summary)}\n`);
  else process.stdout.write(`${renderSummary(run.summary)}\n`);
  if (!options.once) progress.say("Everything stays up; Ctrl-C stops all of it.");
}
