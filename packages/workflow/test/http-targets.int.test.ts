import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { expect, onTestFinished, test } from "vitest";
import { manual, openBench, type Bench } from "./support.ts";

/** A run of one call; how it ended, and why. */
async function callOnce(bench: Bench, url: string) {
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url } };
  const key = await bench.start(await bench.add(manual([call])));
  await bench.run(key);
  return bench.view(key);
}

async function startInner() {
  const inner = await startHttpPeer();
  onTestFinished(() => inner.close());
  return inner;
}

test("a call to an inner address is refused before it connects, however the address is written, and is not tried again", async () => {
  const [bench, inner] = await Promise.all([openBench(), startInner()]);
  const hosts = [
    "127.0.0.1",
    "[::ffff:127.0.0.1]",
    "0x7f000001",
    "2130706433",
    "127.1",
    "0",
    "0177.0.0.1",
    "１２７.０.０.１",
    "169.254.169.254",
  ];
  for (const host of hosts) {
    const view = await callOnce(bench, `http://${host}:${inner.port}/`);
    expect(view, host).toMatchObject({ status: "error", reasonCode: "WORKFLOW.HTTP_STATUS", steps: [{ status: "failed", attempts: 1 }] });
  }
  expect(inner.requests).toEqual([]);
  expect(inner.connections()).toBe(0);
});

test.each([302, 307])("an answer of %i is a failed call, and where it leads sees no request", async (status) => {
  const inner = await startInner();
  const bench = await openBench(() => ({ status, headers: { location: inner.url } }));
  expect(await callOnce(bench, bench.http.url)).toMatchObject({ status: "error", reasonCode: "WORKFLOW.HTTP_STATUS" });
  expect(bench.http.requests).toHaveLength(1);
  expect(inner.requests).toEqual([]);
});
