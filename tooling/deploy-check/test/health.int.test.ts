import { join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { startHttpPeer, type Responder } from "@toolctrl/testkit/http-peer";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { spawnNode } from "@toolctrl/testkit/process";
import { expect, test } from "vitest";

const SCRIPT = join(ROOT, "deploy", "health.mjs");

/** Runs the health command as a container does, and tells how it ended and what it said. */
async function askAt(port: string, args: string[] = []): Promise<{ code: number | null; said: string }> {
  const child = spawnNode(SCRIPT, { args, conditions: [], env: { HEALTH_HOST: "0.0.0.0", HEALTH_PORT: port } });
  const { code } = await child.waitForExit();
  return { code, said: child.stdout() };
}

async function ask(responder: Responder, args: string[] = []): Promise<{ code: number | null; said: string; paths: string[] }> {
  const peer = await startHttpPeer();
  peer.respond(responder);
  const answer = await askAt(String(peer.port), args);
  const paths = peer.requests.map(({ path }) => path);
  await peer.close();
  return { ...answer, paths };
}

test("asks /healthz and ends with 0 where the process lives", async () => {
  expect(await ask(() => ({ status: 200, body: "alive" }))).toEqual({ code: 0, said: "alive\n", paths: ["/healthz"] });
});

test("asks what it is told to, and ends with 1 where that is refused, saying what was answered", async () => {
  const refused = await ask(() => ({ status: 503, body: "redis is away" }), ["/readyz"]);
  expect(refused).toMatchObject({ code: 1, paths: ["/readyz"] });
  expect(refused.said).toContain("expected /readyz to answer 200, got 503: redis is away");
});

test("ends with 1 where nobody listens, and where the port is not fixed", async () => {
  const [nobody, unset] = await Promise.all([findFreePort().then((port) => askAt(String(port))), askAt("0")]);
  expect(nobody).toMatchObject({ code: 1 });
  expect(nobody.said).toContain("ECONNREFUSED");
  expect(unset).toEqual({ code: 1, said: "expected HEALTH_PORT to be a fixed port, got 0\n" });
});

test("ends with 1 by itself where the process hangs: the engine need not kill it", async () => {
  const hung = await ask(() => "hang");
  expect(hung).toMatchObject({ code: 1 });
  expect(hung.said).toContain("timeout");
});
