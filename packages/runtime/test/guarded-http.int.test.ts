import { CodedError } from "@toolctrl/foundation/errors";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGuardedHttp, type GuardedRequest } from "../src/guarded-http.ts";
import { client, LIMITS } from "./guarded-client.ts";
import { startHttpPeer, startTcpPeer } from "./peers.ts";

describe("what may be reached", () => {
  const HOSTS = [
    "127.0.0.1",
    "127.1",
    "127.0.0.1.",
    "0x7f000001",
    "0x7f.1",
    "2130706433",
    "0177.0.0.1",
    "017700000001",
    "0",
    "0.0.0.0",
    "127.255.255.254",
    "１２７.０.０.１",
    "①②⑦.0.0.1",
    "127。0。0。1",
    "%31%32%37.0.0.1",
    "localhost",
    "LOCALHOST",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[0:0:0:0:0:ffff:7f00:0001]",
    "[::127.0.0.1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "[fe80::1]",
    "[fd00::1]",
    "169.254.169.254",
    "[::ffff:169.254.169.254]",
    "0xa9fea9fe",
    "10.0.0.1",
    "172.16.0.1",
    "192.168.0.1",
    "100.100.100.200",
  ];

  test.each(HOSTS)("%s is refused before anything is connected", async (host) => {
    const ipv4 = await startHttpPeer((_request, response) => response.end("inner"));
    const url = `http://${host}:${ipv4.port}/latest/meta-data`;
    const failure = await client()
      .request({ ...LIMITS, url })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "HTTP.BLOCKED_ADDRESS", retry: false });
    expect(ipv4.connections()).toBe(0);
  });

  test("a name with a trailing dot, which only some resolvers know, reaches nothing either", async () => {
    const peer = await startHttpPeer((_request, response) => response.end("inner"));
    await expect(client().request({ ...LIMITS, url: `http://localhost.:${peer.port}/` })).rejects.toMatchObject({
      code: expect.stringMatching(/^HTTP\.(?:BLOCKED_ADDRESS|NETWORK)$/),
    });
    expect(peer.connections()).toBe(0);
  });

  test("an exception opens its address and port alone, by name and by literal", async () => {
    const [open, other] = [
      await startHttpPeer((_request, response) => response.end("ok")),
      await startHttpPeer((_request, response) => response.end("inner")),
    ];
    const http = client(open.port);
    for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433"]) {
      expect((await http.request({ ...LIMITS, url: `http://${host}:${open.port}/` })).body.toString()).toBe("ok");
    }
    await expect(http.request({ ...LIMITS, url: other.url })).rejects.toMatchObject({ code: "HTTP.BLOCKED_ADDRESS" });
    expect(other.connections()).toBe(0);
  });

  test.each([
    "ftp://example.com/",
    "file:///etc/passwd",
    "data:text/plain,x",
    "javascript:1",
    "//example.com/",
    "/path",
    "",
    "http://",
    "http://user:pw@example.com/",
    "http://user@example.com/",
    "http://[::1%25lo]/",
    "http://127.0.0.1:99999/",
  ])("%j is no URL to send to", async (url) => {
    await expect(client().request({ ...LIMITS, url })).rejects.toMatchObject({ code: "HTTP.BAD_URL" });
  });

  test("a proxy of the environment is not used", async () => {
    const proxy = await startHttpPeer((_request, response) => response.end("proxied"));
    const peer = await startHttpPeer((_request, response) => response.end("direct"));
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NODE_USE_ENV_PROXY"]) {
      const before = process.env[name];
      process.env[name] = name === "NODE_USE_ENV_PROXY" ? "1" : proxy.url;
      onTestFinished(() => void (before === undefined ? delete process.env[name] : (process.env[name] = before)));
    }
    expect((await client(peer.port, proxy.port).request({ ...LIMITS, url: peer.url })).body.toString()).toBe("direct");
    expect(proxy.connections()).toBe(0);
  });

  test("a name that does not resolve is a network failure that may be tried again", async () => {
    await expect(client().request({ ...LIMITS, url: "http://no-such-host.invalid/" })).rejects.toMatchObject({
      code: "HTTP.NETWORK",
      retry: true,
      facts: { connected: false },
    });
  });
});

describe("redirects", () => {
  test.each([300, 301, 302, 303, 304, 305, 307, 308])(
    "%i is a failure, and the second host sees no request although it is allowed",
    async (status) => {
      const second = await startHttpPeer((_request, response) => response.end("inner"));
      const first = await startHttpPeer((_request, response) =>
        response.writeHead(status, { location: `${second.url}/admin` }).end(status === 304 ? "" : "x".repeat(100_000)),
      );
      const http = client(first.port, second.port);
      await expect(http.request({ ...LIMITS, method: "POST", url: first.url, body: "{}" })).rejects.toMatchObject({
        code: "HTTP.REDIRECT",
        retry: false,
        facts: { status },
      });
      expect(second.connections()).toBe(0);
      expect(first.requests).toHaveLength(1);
    },
  );
});

test("the endless body of a redirect is not read, and its connection is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const peer = await startHttpPeer((_request, response) => {
    response.on("close", () => closed.resolve()).writeHead(302, { location: "/" });
    response.write("x");
  });
  await expect(client(peer.port).request({ ...LIMITS, url: peer.url })).rejects.toMatchObject({ code: "HTTP.REDIRECT" });
  await closed.promise;
});

describe("what is sent", () => {
  test("method, path, headers and the exact bytes of the body arrive", async () => {
    const peer = await startHttpPeer((_request, response) =>
      response.writeHead(201, { "X-Seen": "1", "set-cookie": ["a=1", "b=2"] }).end("made"),
    );
    const body = Buffer.from('{"n": 1.0,\t"s":"é\u2028"}');
    const answer = await client(peer.port).request({
      ...LIMITS,
      method: "POST",
      url: `${peer.url}/hooks/a%20b?x=1&y#fragment`,
      headers: { "Webhook-Id": "msg_1", "content-type": "application/json" },
      body,
    });
    expect(peer.requests).toMatchObject([
      {
        method: "POST",
        path: "/hooks/a%20b?x=1&y",
        headers: { "webhook-id": "msg_1", "content-type": "application/json", host: `127.0.0.1:${peer.port}` },
      },
    ]);
    expect(peer.requests[0]?.body.equals(body)).toBe(true);
    expect(answer).toEqual({
      status: 201,
      headers: expect.objectContaining({ "x-seen": "1", "set-cookie": "a=1, b=2" }),
      body: Buffer.from("made"),
      truncated: false,
    });
  });

  test.each([
    ["Host", "inner.test"],
    ["host", "x"],
    ["Transfer-Encoding", "chunked"],
    ["Content-Length", "1"],
    ["Connection", "upgrade"],
    ["a b", "x"],
    ["x-ok", "a\r\nhost: inner.test"],
    ["x-ok", "\u0000"],
    ["", "x"],
  ])("the header %j: %j is refused before anything is connected", async (name, value) => {
    const peer = await startHttpPeer((_request, response) => response.end());
    await expect(client(peer.port).request({ ...LIMITS, url: peer.url, headers: { [name]: value } })).rejects.toMatchObject({
      code: "HTTP.BAD_HEADER",
    });
    expect(peer.connections()).toBe(0);
  });

  test("a status of 4xx and 5xx is an answer, for the caller to judge", async () => {
    const peer = await startHttpPeer((request, response) =>
      response.writeHead(Number(request.url?.slice(1)), { "retry-after": "120" }).end("why"),
    );
    for (const status of [400, 404, 410, 429, 500, 503]) {
      expect(await client(peer.port).request({ ...LIMITS, url: `${peer.url}/${status}` })).toMatchObject({
        status,
        headers: { "retry-after": "120" },
      });
    }
  });

  test("no connection is used twice", async () => {
    const peer = await startHttpPeer((_request, response) => response.end("ok"));
    const http = client(peer.port);
    for (let n = 0; n < 3; n += 1) await http.request({ ...LIMITS, url: peer.url });
    expect(peer.connections()).toBe(3);
  });
});

describe("failures", () => {
  test("a refused connection says that the peer saw nothing", async () => {
    const peer = await startTcpPeer((socket) => socket.destroy());
    const unused = peer.port === 65_535 ? peer.port - 1 : peer.port + 1;
    const outcome = client(unused).request({ ...LIMITS, url: `http://127.0.0.1:${unused}/` });
    await expect(outcome).rejects.toMatchObject({ code: "HTTP.NETWORK", facts: { connected: false } });
  });

  test("a connection cut after the request says that the outcome is unknown", async () => {
    for (const reply of ["", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"]) {
      const peer = await startTcpPeer((socket) => socket.once("data", () => socket.end(reply)));
      await expect(
        client(peer.port).request({ ...LIMITS, method: "POST", body: "x", url: `http://127.0.0.1:${peer.port}/` }),
      ).rejects.toMatchObject({ code: "HTTP.NETWORK", retry: true, facts: { connected: true } });
    }
  });

  test("an answer that is no HTTP is a network failure", async () => {
    const peer = await startTcpPeer((socket) => socket.once("data", () => socket.end("220 smtp ready\r\n")));
    await expect(client(peer.port).request({ ...LIMITS, url: `http://127.0.0.1:${peer.port}/` })).rejects.toMatchObject({
      code: "HTTP.NETWORK",
    });
  });

  test.each([
    { what: "an error", reason: new Error("lease lost") },
    // It once passed for an error of the client's own, and so for a request that was never written: the peer got it twice.
    { what: "a coded error", reason: new CodedError("QUEUE.LOCK_LOST", "lease lost") },
  ])("the caller's signal ends a request, whose peer may have seen it, and an aborted one sends nothing: $what", async ({ reason }) => {
    const asked = Promise.withResolvers<void>();
    const peer = await startHttpPeer(() => asked.resolve());
    const stop = new AbortController();
    const request: GuardedRequest = { ...LIMITS, url: peer.url, signal: stop.signal };
    const outcome = client(peer.port).request(request);
    await asked.promise;
    stop.abort(reason);
    await expect(outcome).rejects.toMatchObject({
      code: "HTTP.NETWORK",
      message: expect.stringContaining("lease lost"),
      facts: { connected: true },
    });
    await expect(client(peer.port).request(request)).rejects.toMatchObject({ code: "HTTP.NETWORK", facts: { connected: false } });
    expect(peer.connections()).toBe(1);
  });

  test("closing ends what is in flight and refuses what comes later", async () => {
    const asked = Promise.withResolvers<void>();
    const peer = await startHttpPeer(() => asked.resolve());
    const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
    const outcome = http.request({ ...LIMITS, url: peer.url });
    await asked.promise;
    await Promise.all([http.close(), expect(outcome).rejects.toMatchObject({ code: "HTTP.NETWORK" })]);
    await expect(http.request({ ...LIMITS, url: peer.url })).rejects.toMatchObject({ code: "HTTP.NETWORK" });
    expect(peer.requests).toHaveLength(1);
  });
});
