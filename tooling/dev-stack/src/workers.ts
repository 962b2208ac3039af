import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, openSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Scope } from "@toolctrl/runtime/run";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { inheritedEnv } from "./env.ts";
import type { Servers } from "./servers.ts";
import type { Sinks } from "./sinks.ts";

export interface Worker {
  readonly app: string;
  readonly healthUrl: string;
  readonly logFile: string;
  /** Resolves when the process ends, with a line that says how. */
  readonly ended: Promise<string>;
}

const APPS = ["worker-general", "worker-mail"] as const;
type AppName = (typeof APPS)[number];

export interface WorkersSetup {
  readonly root: string;
  readonly dataDir: string;
  readonly servers: Servers;
  readonly sinks: Sinks;
  /** The drainer that worker-general is to run. */
  readonly mode: "batch" | "pull";
}

/** Starts both worker apps as processes of their own, and waits until they are ready. Their logs go to files under the data folder. */
export async function startWorkers(scope: Scope, setup: WorkersSetup): Promise<Worker[]> {
  const secretsKey = await readSecretsKey(setup.dataDir);
  const workers = await Promise.all(APPS.map((app) => startWorker(scope, setup, app, workerEnv(setup, secretsKey))));
  await Promise.all(workers.map((worker) => untilReady(worker, worker.app === "worker-general" ? setup.mode : undefined)));
  return workers;
}

/** worker-general is composed by this stack: with the sample's plugin, and a gate that the sample can pass. */
function entryOf({ root }: WorkersSetup, app: AppName): string {
  if (app === "worker-general") return join(root, "tooling", "dev-stack", "src", "worker-general.ts");
  return join(root, "apps", app, "src", "main.ts");
}

/** The key webhook secrets are stored with: kept beside the database that holds them. */
export async function readSecretsKey(dataDir: string): Promise<string> {
  const file = join(dataDir, "webhook-secrets.key");
  if (!existsSync(file)) await writeFile(file, randomBytes(32).toString("base64"), { mode: 0o600 });
  return readFile(file, "utf8");
}

function workerEnv({ servers, sinks, mode }: WorkersSetup, secretsKey: string): NodeJS.ProcessEnv {
  const inherited = inheritedEnv();
  // `--mode batch` outvotes an inherited `true`; `shadow` may stay, it drains in batches.
  const votes = mode === "pull" || inherited["OUTBOX_PULL_WORKER"] === "true";
  return {
    ...inherited,
    NODE_ENV: "development",
    DATABASE_URL: servers.databaseUrl,
    QUEUE_BACKEND: servers.backend,
    ...(servers.redisUrl === undefined ? {} : { REDIS_URL: servers.redisUrl }),
    OUTBOX_DISPATCHER_ENABLED: "true",
    ...(votes ? { OUTBOX_PULL_WORKER: String(mode === "pull") } : {}),
    SMTP_URL: `smtp://127.0.0.1:${sinks.smtpPort}`,
    MAIL_FROM: "sample@toolctrl.example",
    WEBHOOK_SECRETS_KEY: secretsKey,
    PLUGIN_SECRETS_KEY: secretsKey,
    MARKETING_PROVIDER_URL: sinks.marketingUrl,
    MARKETING_PROVIDER_TOKEN: "sample",
    // The sink lives on this machine; the guarded client refuses such addresses unless they are named.
    OUTBOUND_HTTP_ALLOW: sinks.httpHost,
  };
}

async function startWorker(scope: Scope, setup: WorkersSetup, app: AppName, env: NodeJS.ProcessEnv): Promise<Worker> {
  const port = await findFreePort();
  const logFile = join(setup.dataDir, `${app}.log`);
  const log = openSync(logFile, "w");
  const child = spawn(process.execPath, ["--conditions=source", entryOf(setup, app)], {
    cwd: setup.root,
    env: { ...env, HEALTH_PORT: String(port) },
    stdio: ["ignore", log, log],
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(`${app} could not start: ${error.message}`));
    child.once("exit", (code, signal) => resolve(`${app} ended with ${signal ?? code ?? "nothing"}; its log is ${logFile}`));
  });
  scope.add(app, { close: (graceMs) => stop(child, ended, graceMs) });
  return { app, healthUrl: `http://127.0.0.1:${port}`, logFile, ended };
}

async function stop(child: ChildProcess, ended: Promise<string>, graceMs: number): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await ended;
  clearTimeout(timer);
}

const READY_TIMEOUT_MS = 60_000;

/** Ready, and running the drainer that was asked for: traffic before that would be drained by the other one. */
async function untilReady(worker: Worker, drainer: "batch" | "pull" | undefined): Promise<void> {
  let dead: string | undefined;
  let missing = "an answer";
  void worker.ended.then((how) => (dead = how));
  for (const giveUpAt = Date.now() + READY_TIMEOUT_MS; Date.now() < giveUpAt;) {
    if (dead !== undefined) throw new Error(dead);
    const now = await whatIsMissing(worker, drainer);
    if (now === null) return;
    missing = now;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { app, logFile } = worker;
  throw new Error(`expected ${app} to be ready within ${READY_TIMEOUT_MS / 1000} s, it lacks ${missing}; its log is ${logFile}`);
}

async function whatIsMissing({ healthUrl }: Worker, drainer: "batch" | "pull" | undefined): Promise<string | null> {
  const response = await fetch(`${healthUrl}/readyz`).catch(() => null);
  if (response === null) return "an answer";
  const body = await response.text();
  if (!response.ok) return `readiness (${body})`;
  const { drainer: drains } = JSON.parse(body) as { drainer?: { running?: string } };
  return drainer === undefined || drains?.running === drainer ? null : `the drainer ${drainer} (${JSON.stringify(drains)})`;
}
