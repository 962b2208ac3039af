import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describeError } from "@toolctrl/foundation/errors";
import { withDeadline } from "./deadline.ts";
import type { Logger } from "./logger.ts";
import type { Metrics } from "./metrics.ts";

export const READINESS_CHECK_MS = 1500;
// A check that hangs is shared by later probes, so that they do not pile up; after this long it is given up.
const GIVE_UP_CHECK_MS = 10 * READINESS_CHECK_MS;

export type ReadinessCheck = () => Promise<void>;

export interface HealthOptions {
  /** 0 takes a free port. */
  readonly port: number;
  /** Default 127.0.0.1. */
  readonly host?: string;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "text" | "contentType">;
  /** By name; each rejects when its dependency cannot serve. They run in parallel, each for {@link READINESS_CHECK_MS} at most. */
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  readonly isDraining: () => boolean;
  /** Facts for a person, shown by /readyz; never decides. */
  readonly details?: () => Readonly<Record<string, unknown>>;
}

export interface HealthServer {
  readonly port: number;
  close(graceMs?: number): Promise<void>;
}

/**
 * Serves `/healthz` (200 as long as the event loop turns; asks no dependency, or an outage would restart every replica),
 * `/readyz` (200 or 503, with each check by name) and `/metrics`.
 */
export async function startHealthServer(options: HealthOptions): Promise<HealthServer> {
  const probes = Object.entries(options.checks).map(([name, check]) => createProbe(name, check));
  const server = createServer((request, response) => {
    answer(request, response, options, probes).catch((error: unknown) => {
      options.log.error({ err: error }, "a health request failed");
      if (response.headersSent) response.destroy();
      else send(response, 500, { status: "error" });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port, options.host ?? "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;
  options.log.info({ port }, "health server listens");
  return {
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type CheckResult = { readonly ok: true; readonly ms: number } | { readonly ok: false; readonly ms: number; readonly error: string };
type Probe = { readonly name: string; readonly run: () => Promise<CheckResult> };

async function answer(request: IncomingMessage, response: ServerResponse, options: HealthOptions, probes: readonly Probe[]): Promise<void> {
  const path = (request.url ?? "/").split("?")[0];
  if (request.method !== "GET" && request.method !== "HEAD") return send(response, 405, { status: "method not allowed" });
  if (path === "/healthz") return send(response, 200, { status: "alive" });
  if (path === "/metrics") return sendText(response, 200, options.metrics.contentType, await options.metrics.text());
  if (path !== "/readyz") return send(response, 404, { status: "not found" });
  const draining = options.isDraining();
  const results = await Promise.all(probes.map(async (probe) => [probe.name, await probe.run()] as const));
  const ready = !draining && results.every(([, result]) => result.ok);
  send(response, ready ? 200 : 503, {
    status: ready ? "ready" : "unready",
    draining,
    checks: Object.fromEntries(results),
    ...options.details?.(),
  });
}

function createProbe(name: string, check: ReadinessCheck): Probe {
  let running: { promise: Promise<void>; startedAt: number } | null = null;
  const join = (): Promise<void> => {
    if (running !== null && performance.now() - running.startedAt < GIVE_UP_CHECK_MS) return running.promise;
    const own = { promise: secondChance(check), startedAt: performance.now() };
    running = own;
    const forget = (): void => {
      if (running === own) running = null;
    };
    own.promise.then(forget, forget);
    return own.promise;
  };
  return {
    name,
    async run() {
      const startedAt = performance.now();
      const ms = (): number => Math.round(performance.now() - startedAt);
      try {
        await withDeadline(join(), READINESS_CHECK_MS, () => new Error(`expected an answer within ${READINESS_CHECK_MS} ms, got none`));
        return { ok: true, ms: ms() };
      } catch (error) {
        return { ok: false, ms: ms(), error: describeError(error, 300) };
      }
    },
  };
}

/**
 * A connection that was cut fails the request that was on it, and the next one goes through on a new connection: that is no outage. So a
 * check that failed fast is asked once more; one that took its time keeps its reason.
 */
async function secondChance(check: ReadinessCheck): Promise<void> {
  const startedAt = performance.now();
  try {
    await check();
  } catch (error) {
    if (performance.now() - startedAt > READINESS_CHECK_MS / 3) throw error;
    await check();
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  sendText(response, status, "application/json; charset=utf-8", JSON.stringify(body));
}

function sendText(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" }).end(text);
}
