import type * as DnsPromises from "node:dns/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGuardedHttp } from "../src/guarded-http.ts";
import { startNameserver } from "./nameserver.ts";
import { startHttpPeer } from "./peers.ts";

// A resolver asks the servers of the system; which these are is the one thing that is not real here.
const dns = vi.hoisted(() => ({ server: "" }));
vi.mock("node:dns/promises", async (original) => {
  const real = await original<typeof DnsPromises>();
  class Resolver extends real.Resolver {
    constructor(...options: ConstructorParameters<typeof real.Resolver>) {
      super(...options);
      this.setServers([dns.server]);
    }
  }
  return { ...real, Resolver };
});

const LOOPBACK = "127.0.0.1";
const METADATA = "169.254.169.254";
const LIMITS = { method: "GET", deadlineMs: 10_000, maxResponseBytes: 1000 } as const;

/** The name server belongs to the attacker here. It gives each request the next answer, and the last one again and again. */
async function setUp(...answers: Array<readonly string[] | null>) {
  let requests = 0;
  const rig = await setUpWith(() => answers[Math.min(requests, answers.length) - 1]);
  return {
    ...rig,
    request: () => {
      requests += 1;
      return rig.request("rebind.test");
    },
  };
}

async function setUpWith(answer: Parameters<typeof startNameserver>[0]) {
  const nameserver = await startNameserver(answer);
  dns.server = nameserver.address;
  const peer = await startHttpPeer((_request, response) => response.end("ok"));
  const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  onTestFinished(() => http.close());
  const request = (host: string, limits: { deadlineMs?: number; signal?: AbortSignal } = {}) =>
    http.request({ ...LIMITS, ...limits, url: `http://${host}:${peer.port}/` });
  return { nameserver, peer, request };
}

test("the address that was checked is the one connected to: a second answer is never asked for", async () => {
  const { nameserver, peer, request } = await setUp([LOOPBACK], [METADATA]);
  expect((await request()).body.toString()).toBe("ok");
  expect(nameserver.asked.toSorted()).toEqual(["rebind.test A", "rebind.test AAAA"]);
  expect(peer.requests[0]?.headers.host).toBe(`rebind.test:${peer.port}`);
});

test("each request checks anew: a name that changed to an inner address is refused", async () => {
  const { peer, request } = await setUp([LOOPBACK], [METADATA]);
  await request();
  await expect(request()).rejects.toMatchObject({
    code: "HTTP.BLOCKED_ADDRESS",
    facts: { host: "rebind.test", addresses: ["169.254.169.254"] },
  });
  expect(peer.connections()).toBe(1);
});

test("of several addresses only those that are allowed are tried", async () => {
  const { peer, request } = await setUp(["127.0.0.2", METADATA, LOOPBACK]);
  const inner = await startHttpPeer((_request, response) => response.end("inner"), { host: "127.0.0.2", port: peer.port });
  expect((await request()).body.toString()).toBe("ok");
  expect(inner.connections()).toBe(0);
});

test.each([
  ["that nobody knows", null, "ENOTFOUND"],
  ["without any address", [], "ENODATA"],
])("a name %s may have one later: nothing was sent, and it is worth another try", async (_what, answer, code) => {
  const { request } = await setUp(answer);
  await expect(request()).rejects.toMatchObject({ code: "HTTP.NETWORK", retry: true, facts: { connected: false }, cause: { code } });
});

test("a name of the hosts file is found there, while no name server answers", async () => {
  const { nameserver, request } = await setUpWith(() => undefined);
  expect((await request("LOCALHOST.")).body.toString()).toBe("ok");
  expect(nameserver.asked).toEqual([]);
});

test("names whose server is silent hold up no other name, and end with their request", async () => {
  const { nameserver, peer, request } = await setUpWith((name) => (name.startsWith("silent") ? undefined : [LOOPBACK]));
  const caller = new AbortController();
  // More than libuv's pool has threads.
  const silent = Array.from({ length: 8 }, (_, index) => `silent${index}.test`);
  const waiting = Promise.allSettled(silent.map((host) => request(host, { signal: caller.signal })));
  await vi.waitFor(() => expect(nameserver.asked).toEqual(expect.arrayContaining(silent.map((host) => `${host} A`))), 5000);
  expect((await request("good.test")).body.toString()).toBe("ok");
  caller.abort();
  const refused = { code: "HTTP.NETWORK", facts: { connected: false } };
  expect(await waiting).toMatchObject(silent.map(() => ({ status: "rejected", reason: refused })));
  await expect(request("silent.test", { deadlineMs: 100 })).rejects.toMatchObject({ code: "HTTP.TIMEOUT", facts: { connected: false } });
  expect(peer.requests).toHaveLength(1);
});
