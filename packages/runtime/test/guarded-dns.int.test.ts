import type { LookupAddress } from "node:dns";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { createGuardedHttp } from "../src/guarded-http.ts";
import { startHttpPeer } from "./peers.ts";

// The resolver belongs to the attacker here; only its answers are ours to give.
const resolver = vi.hoisted(() => ({ answers: [] as Array<Array<{ address: string; family: number }>>, asked: [] as string[] }));
vi.mock("node:dns/promises", () => ({
  lookup: async (host: string): Promise<LookupAddress[]> => {
    resolver.asked.push(host);
    return resolver.answers.length > 1 ? (resolver.answers.shift() ?? []) : (resolver.answers[0] ?? []);
  },
}));

const LOOPBACK = { address: "127.0.0.1", family: 4 };
const METADATA = { address: "169.254.169.254", family: 4 };
const LIMITS = { method: "GET", deadlineMs: 10_000, maxResponseBytes: 1000 } as const;

beforeEach(() => {
  resolver.asked.length = 0;
});

async function setUp(answers: LookupAddress[][]) {
  resolver.answers = answers;
  const peer = await startHttpPeer((_request, response) => response.end("ok"));
  const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  onTestFinished(() => http.close());
  return { peer, request: () => http.request({ ...LIMITS, url: `http://rebind.test:${peer.port}/` }) };
}

test("the address that was checked is the one connected to: a second answer is never asked for", async () => {
  const { peer, request } = await setUp([[LOOPBACK], [METADATA]]);
  expect((await request()).body.toString()).toBe("ok");
  expect(resolver.asked).toEqual(["rebind.test"]);
  expect(peer.requests[0]?.headers.host).toBe(`rebind.test:${peer.port}`);
});

test("each request checks anew: a name that changed to an inner address is refused", async () => {
  const { peer, request } = await setUp([[LOOPBACK], [METADATA]]);
  await request();
  await expect(request()).rejects.toMatchObject({
    code: "HTTP.BLOCKED_ADDRESS",
    facts: { host: "rebind.test", addresses: ["169.254.169.254"] },
  });
  expect(peer.connections()).toBe(1);
});

test("of several addresses only those that are allowed are tried", async () => {
  const { peer, request } = await setUp([[{ address: "127.0.0.2", family: 4 }, METADATA, LOOPBACK, { address: "::1", family: 6 }]]);
  const inner = await startHttpPeer((_request, response) => response.end("inner"), { host: "127.0.0.2", port: peer.port });
  expect((await request()).body.toString()).toBe("ok");
  expect(inner.connections()).toBe(0);
});

test("a name without any address is refused", async () => {
  const { request } = await setUp([[]]);
  await expect(request()).rejects.toMatchObject({ code: "HTTP.BLOCKED_ADDRESS" });
});
