import { access } from "node:fs/promises";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { spawnNode, type ChildHandle } from "../src/process.ts";
import { waitFor } from "../src/wait.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const FIXTURES = "tooling/testkit/test/fixtures/runs";

/** A vitest run of its own, with its own servers, over one fixture file. */
function runVitest(file: string): ChildHandle {
  const cli = fileURLToPath(new URL("../../../node_modules/vitest/vitest.mjs", import.meta.url));
  const args = ["run", "--config", `${FIXTURES}/vitest.config.ts`, "--root", ROOT, `${FIXTURES}/${file}`];
  return spawnNode(cli, { args, cwd: ROOT, env: { NO_COLOR: "1" } });
}

function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("a file that leaves a connection open fails, and the place that opened it is named", async () => {
  const run = runVitest("leaves-connections.ts");
  expect(await run.waitForExit()).toMatchObject({ code: 1 });
  expect(run.lines().join("\n")).toMatch(
    /expected the test file to close its connections, got 1 open:\s+to port \d+, opened .*leaves-connections\.ts/,
  );
});

test("a run that is killed leaves no server, no child and no files behind", async () => {
  const run = runVitest("hangs.ts");
  const line = await run.waitForLine(/HANGS /);
  const { urls, dirs, pids } = JSON.parse(line.slice(line.indexOf("{"))) as { urls: string[]; dirs: string[]; pids: number[] };
  expect(await Promise.all(urls.map(answers))).toEqual([true, true, true]);
  run.kill("SIGKILL");
  await waitFor(async () => !(await Promise.all(urls.map(answers))).includes(true), { timeoutMs: 20_000, what: "the servers to be gone" });
  await waitFor(() => !pids.some(isAlive), { timeoutMs: 20_000, what: "the processes to be gone" });
  for (const dir of dirs)
    await waitFor(
      () =>
        access(dir).then(
          () => false,
          () => true,
        ),
      { what: `${dir} to be gone` },
    );
  expect(pids.some(isAlive)).toBe(false);
});
