import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { answerIn } from "../src/guarded-http.ts";
import { startFixture } from "./child.ts";
import { client, LIMITS } from "./guarded-client.ts";
import { startHttpPeer, startTcpPeer } from "./peers.ts";

describe("limits", () => {
  const short = { ...LIMITS, deadlineMs: 300 };

  test("a body that drips for ever ends at the total deadline", async () => {
    const closed = Promise.withResolvers<void>();
    const peer = await startHttpPeer((_request, response) => {
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => {
        clearInterval(timer);
        closed.resolve();
      });
    });
    await expect(client(peer.port).request({ ...short, url: peer.url })).rejects.toMatchObject({
      code: "HTTP.TIMEOUT",
      retry: true,
      facts: { connected: true, status: 200 },
    });
    await closed.promise;
  });

  test("of an answer whose body is cut off, status and headers are handed on beside the facts that are logged", async () => {
    const peer = await startHttpPeer((_request, response) => {
      response.writeHead(429, { "retry-after": "120", "content-length": "100" });
      response.write("slow down", () => response.destroy());
    });
    const thrown: unknown = await client(peer.port)
      .request({ ...LIMITS, url: peer.url })
      .catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: "HTTP.NETWORK", facts: { origin: peer.url, connected: true, status: 429 } });
    expect(answerIn(thrown)).toMatchObject({ status: 429, headers: { "retry-after": "120" } });
    expect(Object.keys((thrown as { facts: object }).facts)).toEqual(["origin", "connected", "status"]);
    expect(answerIn(new Error("another"))).toBeNull();
  });

  test("headers that drip or never come end at the total deadline", async () => {
    for (const start of ["", "HTTP/1.1 200 OK\r\n"]) {
      const closed = Promise.withResolvers<void>();
      const peer = await startTcpPeer((socket) => {
        socket.write(start);
        const timer = setInterval(() => start !== "" && socket.write("x-a: b\r\n"), 20);
        socket
          .on("data", () => undefined)
          .on("close", () => {
            clearInterval(timer);
            closed.resolve();
          });
      });
      await expect(client(peer.port).request({ ...short, url: `http://127.0.0.1:${peer.port}/` })).rejects.toMatchObject({
        code: "HTTP.TIMEOUT",
        facts: { connected: true, status: null },
      });
      await closed.promise;
    }
  });

  test("a TLS handshake that never ends does so at the deadline, and its connection is closed", async () => {
    const closed = Promise.withResolvers<void>();
    const peer = await startTcpPeer((socket) => socket.on("data", () => undefined).on("close", () => closed.resolve()));
    await expect(client(peer.port).request({ ...short, url: `https://localhost:${peer.port}/` })).rejects.toMatchObject({
      code: "HTTP.TIMEOUT",
      facts: { connected: false },
    });
    await closed.promise;
  });

  test("an endless body is cut at the cap, and its connection is closed", async () => {
    const closed = Promise.withResolvers<void>();
    const chunk = Buffer.alloc(16_384, "x");
    const peer = await startHttpPeer((_request, response) => {
      const pump = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on("drain", pump).on("close", () => closed.resolve());
      pump();
    });
    const answer = await client(peer.port).request({ ...LIMITS, maxResponseBytes: 100_000, url: peer.url });
    expect([answer.status, answer.body.length, answer.truncated]).toEqual([200, 100_000, true]);
    await closed.promise;
  });

  test("a body of exactly the cap is whole, and a cap of 0 keeps nothing", async () => {
    const peer = await startHttpPeer((_request, response) => response.end("12345"));
    const read = (maxResponseBytes: number) => client(peer.port).request({ ...LIMITS, maxResponseBytes, url: peer.url });
    expect(await read(5)).toMatchObject({ body: Buffer.from("12345"), truncated: false });
    expect(await read(4)).toMatchObject({ body: Buffer.from("1234"), truncated: true });
    expect(await read(0)).toMatchObject({ body: Buffer.alloc(0), truncated: true });
  });

  test("50 MB in a small gzip body and 50 MB plain leave the process within 20 MiB of its size", async () => {
    const small = gzipSync(Buffer.alloc(50 * 1024 * 1024));
    const chunk = Buffer.alloc(1024 * 1024, "x");
    const answers = {
      gzip: (response: ServerResponse) => response.writeHead(200, { "content-encoding": "gzip" }).end(small),
      plain: (response: ServerResponse) => {
        for (let n = 0; n < 50; n += 1) response.write(chunk);
        response.end();
      },
    };
    for (const [name, answer] of Object.entries(answers)) {
      const peer = await startHttpPeer((request, response) => (request.url === "/small" ? response.end("ok") : answer(response)));
      const child = startFixture("read-response.ts", [String(peer.port), "65536"]);
      const report = JSON.parse(await child.line("grownMiB")) as { kept: number; grownMiB: number; status: number };
      expect(report, name).toMatchObject({ status: 200, kept: Math.min(65_536, name === "gzip" ? small.length : 65_536) });
      expect(report.grownMiB, name).toBeLessThan(20);
      expect(peer.requests.at(-1)?.headers["accept-encoding"]).toBe("identity");
      await child.exit();
    }
  });

  test("headers without bound are refused", async () => {
    const peer = await startHttpPeer((_request, response) => response.writeHead(200, { "x-large": "x".repeat(100_000) }).end());
    await expect(client(peer.port).request({ ...LIMITS, url: peer.url })).rejects.toMatchObject({ code: "HTTP.NETWORK" });
  });
});
