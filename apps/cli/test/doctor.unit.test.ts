import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import type { Io } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";

afterEach(() => void vi.unstubAllEnvs());

test("a bad environment is a finding of doctor, with every problem of it", async () => {
  vi.stubEnv("DATABASE_URL", "mysql://x");
  vi.stubEnv("OUTBOX_LEASE_MS", "soon");
  const [out, err] = [new PassThrough(), new PassThrough()];
  const io = { out, err, in: process.stdin, canAsk: false } as unknown as Io;
  expect(await runCli(["doctor", "--json"], io)).toBe(1);
  expect(JSON.parse(String(out.read()))).toEqual({
    healthy: false,
    checks: [
      {
        name: "environment",
        state: "fail",
        said: expect.stringMatching(/DATABASE_URL[^]+OUTBOX_LEASE_MS/),
        fix: expect.stringContaining("env.md"),
      },
    ],
  });
});
