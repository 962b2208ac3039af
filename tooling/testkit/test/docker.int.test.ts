import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { dockerAnswers } from "../src/docker.ts";

async function socketPath(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "testkit-"));
  const before = process.env.DOCKER_HOST;
  onTestFinished(async () => {
    if (before === undefined) delete process.env.DOCKER_HOST;
    else process.env.DOCKER_HOST = before;
    await rm(dir, { recursive: true, force: true });
  });
  const path = join(dir, "engine.sock");
  process.env.DOCKER_HOST = `unix://${path}`;
  return path;
}

test.each([
  [200, true],
  [500, false],
])("an engine that answers its ping with %i counts as there: %s", async (status, there) => {
  const path = await socketPath();
  const engine = createServer((request, response) => response.writeHead(request.url === "/_ping" ? status : 404).end());
  engine.listen(path);
  await once(engine, "listening");
  onTestFinished(() => void engine.close());
  expect(await dockerAnswers()).toBe(there);
});

test("without an engine behind the socket there is none, whatever client is installed", async () => {
  await socketPath();
  expect(await dockerAnswers()).toBe(false);
  process.env.DOCKER_HOST = "ssh://elsewhere";
  expect(await dockerAnswers()).toBe(false);
});
