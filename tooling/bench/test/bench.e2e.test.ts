import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { spawnNode } from "@toolctrl/testkit/process";
import { expect, onTestFinished, test } from "vitest";
import { CASE_NAMES } from "../src/options.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const RATE = expect.any(Number);

test("a quick run measures every case on private, durable servers and prints one JSON document, the table beside it", async () => {
  const dir = await mkdtemp(join(tmpdir(), "toolctrl-bench-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const out = join(dir, "bench.json");
  // Four worker processes are two with another number, and cost as much as all the rest.
  const only = CASE_NAMES.filter((name) => !["workers-4", "mails-4"].includes(name)).join(",");
  const bench = spawnNode(MAIN, { args: ["--quick", "--json", "--out", out, "--only", only] });
  expect(await bench.waitForExit({ timeoutMs: 170_000 }), bench.stderr()).toEqual({ code: 0, signal: null });
  const report: unknown = JSON.parse(bench.stdout());
  const side = { label: expect.any(String), perSecond: [RATE], median: RATE, cpuMicros: RATE };
  const measured = {
    unit: expect.any(String),
    operations: RATE,
    settings: expect.any(Object),
    baseline: side,
    product: side,
    ratio: RATE,
    roundRatios: [RATE],
    met: null,
  };
  expect(report).toMatchObject({
    quick: true,
    rounds: 1,
    machine: { cores: RATE, node: process.version },
    servers: {
      postgres: { fsync: "on", synchronous_commit: "on", full_page_writes: "on" },
      redis: { appendonly: "yes", appendfsync: "everysec" },
    },
    cases: [
      { name: "publish", target: 0.7, ...measured },
      { name: "hand-off", target: 0.8, ...measured },
      { name: "consume", target: 0.5, ...measured },
      { name: "claim", target: 1 / 3, ...measured },
      { name: "steps", target: 0.8, ...measured },
      { name: "workers-2", target: 1, ...measured },
      { name: "mails-2", target: 1.8, ...measured },
    ],
    claimPlans: Array.from({ length: 7 }, () => ({
      shape: expect.any(String),
      pending: RATE,
      headsInFlight: RATE,
      claims: 10,
      found: RATE,
      medianBuffers: RATE,
      worstBuffers: RATE,
      medianMs: RATE,
    })),
  });
  expect(JSON.parse(await readFile(out, "utf8"))).toEqual(report);
  expect(bench.stderr()).toContain("│");
  expect(bench.groupAlive()).toBe(false);
}, 180_000);

test("a wrong option ends with the usage, before any server starts", async () => {
  const bench = spawnNode(MAIN, { args: ["--rounds", "none"] });
  expect(await bench.waitForExit()).toEqual({ code: 2, signal: null });
  expect(bench.stderr()).toMatch(/expected --rounds[\s\S]*pnpm bench/);
});
