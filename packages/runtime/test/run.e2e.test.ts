import { describe, expect, test } from "vitest";
import { startFixture, type Child } from "./child.ts";

function closings(child: Child): string[] {
  return child.lines.filter((line) => line.startsWith("close "));
}

const ALL_IN_REVERSE = [
  "close drainer within some time",
  "close broken within some time",
  "close queue within some time",
  "close database within some time",
];

describe("runUntilSignal", () => {
  test.each(["SIGTERM", "SIGINT"] as const)("%s closes everything in reverse order and exits with 0", async (signal) => {
    const child = startFixture("closing-order.ts");
    await child.line("ready");
    child.process.kill(signal);
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(closings(child)).toEqual(ALL_IN_REVERSE);
  });

  test("a second signal while closing changes nothing", async () => {
    const child = startFixture("closing-order.ts", ["wait-for-second"]);
    await child.line("ready");
    child.process.kill("SIGTERM");
    await child.line("close drainer");
    child.process.kill("SIGTERM");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(closings(child)).toEqual(ALL_IN_REVERSE);
    expect(child.lines.filter((line) => line.includes('"msg":"stopping"'))).toHaveLength(1);
  });

  test("a resource that never closes is given up, those behind it still get their time, and the process ends", async () => {
    const child = startFixture("closing-order.ts", ["hang"]);
    await child.line("ready");
    child.process.kill("SIGTERM");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(closings(child)).toEqual(ALL_IN_REVERSE);
    expect(child.lines).not.toContain("closed queue");
    expect(child.lines).toContain("closed database");
  });

  test("a resource that fails to close does not keep the others open", async () => {
    const child = startFixture("closing-order.ts", ["broken"]);
    await child.line("ready");
    child.process.kill("SIGTERM");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(closings(child)).toEqual(ALL_IN_REVERSE);
    expect(child.lines.some((line) => line.includes("cannot close"))).toBe(true);
  });

  test("a signal while starting closes what is there, what comes late too, and exits with 0", async () => {
    const child = startFixture("closing-order.ts", ["slow-start"]);
    await child.line("starting");
    child.process.kill("SIGTERM");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    expect(closings(child)).toHaveLength(3);
    expect(child.lines).toContain("closed late");
  });

  test("a start that fails is logged, closes what is there and exits with 1", async () => {
    const child = startFixture("closing-order.ts", ["fail-start"]);
    expect(await child.exit()).toEqual({ code: 1, signal: null });
    expect(closings(child)).toEqual(["close database within some time"]);
    expect(child.lines.some((line) => line.includes("no such table") && line.includes('"fatal"'))).toBe(true);
  });

  test.each([
    ["reject", "nobody handles me"],
    ["throw", "nobody catches me"],
  ])("an error that is left over (%s) is logged, closes everything and exits with 1", async (word, message) => {
    const child = startFixture("closing-order.ts", [word]);
    expect(await child.exit()).toEqual({ code: 1, signal: null });
    expect(closings(child)).toEqual(ALL_IN_REVERSE);
    expect(child.lines.some((line) => line.includes(message) && line.includes('"fatal"'))).toBe(true);
  });

  test("a main that leaves nothing open still waits for the signal", async () => {
    const child = startFixture("empty-main.ts");
    await child.line("ready");
    child.process.kill("SIGTERM");
    expect(await child.exit()).toEqual({ code: 0, signal: null });
    await expect(child.line("got SIGTERM")).resolves.toBeDefined();
  });
});
