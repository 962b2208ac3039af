import { request } from "node:http";
import { onTestFinished, describe, expect, test } from "vitest";
import { startHealthServer, type HealthOptions } from "../src/health.ts";
import { createLogger } from "../src/logger.ts";
import { createMetrics } from "../src/metrics.ts";

type Answer = { status: number; type: string; body: string };

async function start(
  options: Partial<HealthOptions>,
): Promise<{ get(path: string, method?: string): Promise<Answer>; port: number; close(): Promise<void> }> {
  const server = await startHealthServer({
    port: 0,
    log: createLogger({ app: "test", level: "silent" }),
    metrics: createMetrics({ processMetrics: false }),
    checks: {},
    isDraining: () => false,
    ...options,
  });
  onTestFinished(() => server.close());
  const get = (path: string, method = "GET"): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const call = request({ port: server.port, host: "127.0.0.1", path, method }, (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers["content-type"] ?? "",
            body: Buffer.concat(chunks).toString(),
          }),
        );
      });
      call.on("error", reject).end();
    });
  return { get, port: server.port, close: () => server.close() };
}

const never = (): Promise<never> => new Promise(() => undefined);

describe("/healthz", () => {
  test("answers 200 and asks no dependency, also while draining", async () => {
    let asked = 0;
    const { get } = await start({
      isDraining: () => true,
      checks: {
        database: async () => {
          asked += 1;
          throw new Error("away");
        },
      },
    });
    expect((await get("/healthz")).status).toBe(200);
    expect(asked).toBe(0);
  });
});

describe("/readyz", () => {
  test("is 200 when every check passes, and names them", async () => {
    const { get } = await start({
      checks: { database: async () => undefined, queue: async () => undefined },
      details: () => ({ drainer: "batch" }),
    });
    const answer = await get("/readyz?verbose");
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({
      status: "ready",
      draining: false,
      drainer: "batch",
      checks: { database: { ok: true }, queue: { ok: true } },
    });
  });

  test("is 503 when one fails, with its reason, and the others are still told", async () => {
    const { get } = await start({
      checks: {
        database: async () => undefined,
        queue: async () => {
          throw new Error("READONLY");
        },
        store: () => {
          throw new Error("thrown at once");
        },
      },
    });
    const answer = await get("/readyz");
    expect(answer.status).toBe(503);
    expect(JSON.parse(answer.body)).toMatchObject({
      status: "unready",
      checks: { database: { ok: true }, queue: { ok: false, error: "READONLY" }, store: { ok: false, error: "thrown at once" } },
    });
  });

  test("is 200 when a request was lost with its connection and the next one gets through", async () => {
    let asked = 0;
    const queue = async (): Promise<void> => {
      asked += 1;
      if (asked === 1) throw new Error("read ECONNRESET");
    };
    const { get } = await start({ checks: { queue } });
    expect((await get("/readyz")).status).toBe(200);
    expect(asked).toBe(2);
  });

  test("is 503 while draining although every check passes", async () => {
    const { get } = await start({ isDraining: () => true });
    expect(await get("/readyz")).toMatchObject({ status: 503, body: expect.stringContaining('"draining":true') });
  });

  test("runs the checks in parallel: each waits here for the other", async () => {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const { get } = await start({
      checks: {
        a: async () => {
          first.resolve();
          await second.promise;
        },
        b: async () => {
          second.resolve();
          await first.promise;
        },
      },
    });
    expect((await get("/readyz")).status).toBe(200);
  });

  test("bounds a check that never answers, does not start it again for every probe, and leaves liveness alone", async () => {
    let started = 0;
    const { get } = await start({
      checks: {
        hangs: () => {
          started += 1;
          return never();
        },
        fine: async () => undefined,
      },
    });
    const probes = await Promise.all([get("/readyz"), get("/readyz"), get("/readyz"), get("/healthz")]);
    expect(probes.map(({ status }) => status)).toEqual([503, 503, 503, 200]);
    expect(JSON.parse(probes[0].body)).toMatchObject({
      checks: { hangs: { ok: false, error: expect.stringContaining("expected an answer") }, fine: { ok: true } },
    });
    expect(started).toBe(1);
  });

  test("turns green again by itself when the dependency is back", async () => {
    let away = true;
    const { get } = await start({
      checks: {
        database: async () => {
          if (away) throw new Error("away");
        },
      },
    });
    expect((await get("/readyz")).status).toBe(503);
    away = false;
    expect((await get("/readyz")).status).toBe(200);
  });
});

describe("the server", () => {
  test("serves the metrics in the Prometheus format", async () => {
    const metrics = createMetrics({ processMetrics: false });
    metrics.add("outbox_claims_total", 4);
    const { get } = await start({ metrics });
    expect(await get("/metrics")).toMatchObject({
      status: 200,
      type: expect.stringContaining("text/plain"),
      body: expect.stringContaining("outbox_claims_total 4"),
    });
  });

  test("answers 500 and lives on when the metrics cannot be read", async () => {
    const { get } = await start({
      metrics: {
        contentType: "text/plain",
        text: async () => {
          throw new Error("no");
        },
      },
    });
    expect((await get("/metrics")).status).toBe(500);
    expect((await get("/healthz")).status).toBe(200);
  });

  test("knows no other path or method", async () => {
    const { get } = await start({});
    expect((await get("/")).status).toBe(404);
    expect((await get("/healthz", "POST")).status).toBe(405);
  });

  test("closes although a probe is still open, and frees the port", async () => {
    const asked = Promise.withResolvers<void>();
    const { get, close } = await start({
      checks: {
        hangs: () => {
          asked.resolve();
          return never();
        },
      },
    });
    const open = get("/readyz");
    await asked.promise;
    await Promise.all([close(), expect(open).rejects.toThrow(/socket|ECONN/)]);
    await expect(get("/healthz")).rejects.toThrow("ECONNREFUSED");
  });

  test("fails to start on a taken port with the system's error", async () => {
    const { port } = await start({});
    await expect(start({ port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});
