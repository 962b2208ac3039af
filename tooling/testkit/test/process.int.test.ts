import { readdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { spawnCommand, spawnNode } from "../src/process.ts";
import { closeTracked } from "../src/tracked.ts";
import { waitFor } from "../src/wait.ts";

const CHATTY = new URL("./fixtures/chatty.ts", import.meta.url);

test("a child gets its arguments and environment and reports its exit code with all its output", async () => {
  const child = spawnNode(CHATTY, { args: ["exit", "a", "b"], env: { GREETING: "there" } });
  expect(await child.waitForExit()).toEqual({ code: 3, signal: null });
  expect(child.stdout()).toBe("hello a b there\n");
  expect(child.stderr()).toBe("to the error output\n");
  expect(child.lines().toSorted()).toEqual(["hello a b there", "to the error output"]);
});

test("a child does not see the test runner's own variables", async () => {
  const child = spawnCommand(process.execPath, [
    "-p",
    "Object.keys(process.env).filter((name) => /VITEST|TESTKIT|NODE_/.test(name)).length",
  ]);
  await child.waitForExit();
  expect(child.stdout()).toBe("0\n");
});

test("a Node child keeps what it compiled where the run's next one finds it", async () => {
  const child = spawnNode(CHATTY, {
    args: ["exit"],
    nodeArgs: ["--import", "data:text/javascript,console.log(process.env.NODE_COMPILE_CACHE)"],
  });
  await child.waitForExit();
  const dir = process.env.TESTKIT_COMPILE_CACHE ?? "";
  expect(child.lines()).toContain(dir);
  expect(await readdir(dir)).not.toEqual([]);
});

test("input reaches the child", async () => {
  const child = spawnNode(CHATTY, { args: ["read"], input: "typed" });
  expect(await child.waitForExit()).toEqual({ code: 0, signal: null });
  expect(child.stdout()).toContain("typed");
});

test("a signal reaches the child alone", async () => {
  const child = spawnNode(CHATTY, { args: ["parent"] });
  expect(await child.waitForLine(/^ready$/)).toBe("ready");
  child.kill("SIGTERM");
  expect(await child.waitForExit()).toEqual({ code: 0, signal: null });
  expect(child.lines()).toContain("bye");
  expect(child.groupAlive()).toBe(true);
  child.kill("SIGKILL", { group: true });
  await waitFor(() => !child.groupAlive());
});

test("waiting for a line tells when the child ended without it", async () => {
  const child = spawnNode(CHATTY, { args: ["exit"] });
  await expect(child.waitForLine(/^ready$/)).rejects.toThrow(/got the end of .*"code":3[\s\S]*hello/);
});

test("a program that does not exist is an error at once", () => {
  expect(() => spawnCommand("/nonexistent/program", [])).toThrow(/expected \/nonexistent\/program to start/);
});

test("what is still running at the end of the file is killed with its descendants", async () => {
  const child = spawnNode(CHATTY, { args: ["parent"] });
  await child.waitForLine(/^ready$/);
  await closeTracked();
  await waitFor(() => !child.groupAlive());
  expect(await child.waitForExit()).toEqual({ code: null, signal: "SIGKILL" });
});
