import { spawnNode, type ChildHandle } from "@toolctrl/testkit/process";

export interface WorkerOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Modules loaded before the app. */
  readonly preload?: readonly URL[];
  readonly nodeArgs?: readonly string[];
}

export interface Readiness {
  readonly status: number;
  readonly checks: Record<string, { ok: boolean; error?: string }>;
  /** What an app that drains tells of its drainer. */
  readonly drainer?: { running: string | null; mode: string; whyNotPull: string[]; blockers: string[] } | undefined;
}

/** An app's process and its health server. */
export interface Worker extends ChildHandle {
  /** The answer's status; 0 when there was none. */
  status(path: "/healthz" | "/readyz"): Promise<number>;
  ready(): Promise<Readiness>;
  /** The value of a metric as it stands in the text, e.g. `queue_dead_total{queue="outbox.audit"}`; 0 while it is absent. */
  metric(name: string): Promise<number>;
}

const ANSWER_MS = 5000;

export async function startWorkerProcess(main: URL, env: Readonly<Record<string, string>>, options: WorkerOptions): Promise<Worker> {
  const imports = (options.preload ?? []).flatMap((module) => ["--import", module.href]);
  const child = spawnNode(main, { env: { ...env, ...options.env }, nodeArgs: [...imports, ...(options.nodeArgs ?? [])] });
  const line = await child.waitForLine(/"msg":"health server listens"/);
  const url = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`;
  const get = (path: string): Promise<Response> => fetch(`${url}${path}`, { signal: AbortSignal.timeout(ANSWER_MS) });
  return {
    ...child,
    status: (path) =>
      get(path).then(
        async (response) => (await response.arrayBuffer(), response.status),
        () => 0,
      ),
    async ready() {
      const response = await get("/readyz");
      const { checks, drainer } = (await response.json()) as Pick<Readiness, "checks" | "drainer">;
      return { status: response.status, checks, drainer };
    },
    async metric(name) {
      const text = await (await get("/metrics")).text();
      const found = text.split("\n").find((each) => each.startsWith(`${name} `));
      return found === undefined ? 0 : Number(found.slice(name.length + 1));
    },
  };
}
