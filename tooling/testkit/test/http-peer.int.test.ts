import { expect, test } from "vitest";
import { startHttpPeer } from "../src/http-peer.ts";

test("requests are kept and answered as the responder says", async () => {
  const peer = await startHttpPeer();
  peer.respond((request, index) => ({ status: 201, headers: { "x-index": String(index) }, body: request.text.toUpperCase() }));
  const response = await fetch(`${peer.url}/hook?a=1`, { method: "POST", body: "hello", headers: { "x-sent": "yes" } });
  expect([response.status, response.headers.get("x-index"), await response.text()]).toEqual([201, "0", "HELLO"]);
  expect(await peer.nextRequest()).toMatchObject({ method: "POST", path: "/hook?a=1", text: "hello", headers: { "x-sent": "yes" } });
});

test("a dropped answer leaves the request kept and the client with an error", async () => {
  const peer = await startHttpPeer();
  peer.respond(() => "drop");
  await expect(fetch(peer.url)).rejects.toThrow("fetch failed");
  expect(peer.requests).toHaveLength(1);
});

test("closing ends a request that hangs, whose connection counts until then", async () => {
  const peer = await startHttpPeer();
  peer.respond(() => "hang");
  const asking = fetch(peer.url).catch(() => "failed");
  await peer.nextRequest();
  expect(peer.connections()).toBe(1);
  await peer.close();
  expect(await asking).toBe("failed");
});

test("a responder that throws drops the connection", async () => {
  const peer = await startHttpPeer();
  peer.respond(() => {
    throw new Error("broken responder");
  });
  await expect(fetch(peer.url)).rejects.toThrow("fetch failed");
});
