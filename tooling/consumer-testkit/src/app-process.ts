import type { QueueName } from "@toolctrl/foundation/queues";
import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";
import { waitFor } from "@toolctrl/testkit/wait";
import type { Installation } from "./installation.ts";

/** An app, or a part of one: its main file, its queues and what its environment needs besides the installation's. */
export interface App {
  readonly main: URL;
  readonly queues: readonly QueueName[];
  readonly env: Readonly<Record<string, string>>;
  /** Whether the main file opens lanes for a test that has a channel to it, as `runOneConsumer` does. */
  readonly hostsLanes?: boolean;
}

export interface AppProcessOptions {
  readonly nodeArgs?: string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts an app's process and waits until each of its workers waits for jobs. */
export async function startApp(installation: Installation, app: App, options: AppProcessOptions = {}): Promise<ChildHandle> {
  const child = spawnNode(app.main, {
    env: { ...installation.appEnv, ...app.env, ...options.env },
    ...(options.nodeArgs === undefined ? {} : { nodeArgs: options.nodeArgs }),
  });
  const serves = waitFor(() => isServing(installation, app), {
    what: `workers of ${app.queues.join(", ")} to wait for jobs`,
    timeoutMs: 30_000,
  });
  const ends = child.waitForExit({ timeoutMs: 600_000 }).then(() => Promise.reject(new Error("expected the app to serve, got its end")));
  try {
    await Promise.race([serves, ends]);
  } catch (error) {
    serves.catch(() => undefined);
    throw new Error(`${String(error)}; the last lines of the app:\n${child.lines().slice(-20).join("\n")}`, { cause: error });
  }
  // Its later end is what the caller waits for.
  ends.catch(() => undefined);
  return child;
}

/** Whether each of the app's workers waits for jobs. */
export async function isServing(installation: Installation, { queues }: App): Promise<boolean> {
  return (await waitingWorkers(installation, queues)) === queues.length;
}

/** On Redis a worker's waiting connection is named after its queue; on Postgres the last thing a worker asks before it waits shows. */
async function waitingWorkers({ redis, backend, database, appSessions }: Installation, queues: readonly QueueName[]): Promise<number> {
  if (redis === undefined) {
    const { rowCount } = await database.pool.query(
      `SELECT 1 FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = $1 AND state = 'idle' AND query LIKE '%SELECT next_delay($1)%'`,
      [appSessions],
    );
    return rowCount ?? 0;
  }
  const clients = String(await redis.client("LIST")).split("\n");
  const isWaiting = (queue: QueueName): boolean => {
    const name = ` name=${backend.prefix}:${Buffer.from(queue).toString("base64")}`;
    return clients.some((client) => client.includes(name) && client.includes(" cmd=bzpopmin "));
  };
  return queues.filter(isWaiting).length;
}
