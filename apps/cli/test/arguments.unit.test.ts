import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Io } from "../src/io.ts";
import { jitterMsOf } from "../src/options/requeue-options.ts";
import { createProgress } from "../src/output/progress.ts";
import { table } from "../src/output/table.ts";
import { runCli } from "../src/run-cli.ts";

function captureIo(options: { isTTY?: boolean } = {}): { io: Io; out: () => string; err: () => string } {
  const texts = { out: "", err: "" };
  const sink = (name: "out" | "err"): NodeJS.WriteStream => {
    const stream = new PassThrough();
    stream.on("data", (chunk: Buffer) => void (texts[name] += chunk.toString()));
    return Object.assign(stream, { isTTY: options.isTTY ?? false }) as unknown as NodeJS.WriteStream;
  };
  return { io: { out: sink("out"), err: sink("err"), in: process.stdin, canAsk: false }, out: () => texts.out, err: () => texts.err };
}

async function run(args: string[]) {
  const { io, out, err } = captureIo();
  const code = await runCli(args, io);
  return { code, out: out(), err: err() };
}

// None of these has a database: what is wrong with the command line is said before anything is opened.
describe("a bad command line ends with exit code 2 and says what was expected", () => {
  test.each([
    [["--status", "PENDING"], "expected --status to be of FAILED, CANCELLED, DONE, got PENDING"],
    [["--status", "DONE,PROCESSING"], "got PROCESSING"],
    [["--type", "billing"], "a filter without --status"],
    [[], "expected ids, or a filter with --status"],
    [["some-id", "--status", "FAILED"], "expected ids or a filter, got both"],
    [["--status", "SLEEPING"], "expected PENDING, PROCESSING, DONE, FAILED, CANCELLED"],
    [["--status", "FAILED", "--from", "yesterday"], "expected a time such as"],
    [["--status", "FAILED", "--from", "2026-11-30T09:00:00"], "expected a time such as"],
    [["--status", "FAILED", "--from", "2026-02-31"], "expected a time such as"],
    [["--status", "FAILED", "--to", "2026-04-31T23:30:00-02:00"], "expected a time such as"],
    [["--status", "FAILED", "--from", "999999999d"], "expected a duration of at most 36500d"],
    [["--status", "FAILED", "--jitter", "36501d"], "expected a duration of at most 36500d"],
    [["--status", "FAILED", "--batch-size", "0"], "expected a whole number from 1 to 1000"],
    [["--status", "FAILED", "--limit", "1e3"], "expected a whole number"],
    [["--status", "FAILED", "--jitter", "soon"], "expected a duration"],
    [["--status", "FAILED", "--actor", ""], "expected 1 to 200 characters"],
    [["--stauts", "FAILED"], "unknown option"],
    [["some-id", "--replay"], "expected --consumer together with --replay"],
    [["some-id", "--consumer", "email-send"], "expected --replay together with --consumer"],
    [["some-id", "--replay", "--consumer", "nobody"], "expected --consumer to be one of"],
  ])("requeue %j", async (args, message) => {
    const human = await run(["outbox", "requeue", ...args]);
    expect([human.code, human.out]).toEqual([2, ""]);
    expect(human.err).toContain(message);
    const json = await run(["outbox", "requeue", ...args, "--json"]);
    expect(json.code).toBe(2);
    expect(JSON.parse(json.out)).toMatchObject({ error: { code: "CLI.ARGUMENT", message: expect.stringContaining(message) } });
  });

  test("cancel touches PENDING and FAILED only", async () => {
    expect(await run(["outbox", "cancel", "--status", "DONE"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("expected --status to be of PENDING, FAILED, got DONE"),
    });
  });

  test.each([
    [["list"], "required option '--tenant <id>' not specified"],
    [["list", "--tenant", "acme", "--status", "error"], "expected --status and --workflow together with --runs"],
    [["list", "--tenant", "acme", "--workflow", "w"], "expected --status and --workflow together with --runs"],
    [["list", "--tenant", "acme", "--runs", "--status", "done"], "expected --status to be one of queued, running, waiting"],
    [["run", "w", "--tenant", "acme", "--input", "[]"], "expected a JSON object such as"],
    [["run", "w", "--tenant", "acme", "--input", "{"], "expected a JSON object, got: "],
    [["run", "w", "--tenant", "acme", "--input", `{"a": "\\u0000"}`], "U+0000"],
    [["continue", "q", "--tenant", "acme"], "required option '--value <json>' not specified"],
    [["retry", "r", "--tenant", "acme"], "required option '--from <nodeId>' not specified"],
    [["show", "--tenant", "acme"], "missing required argument 'runId'"],
  ])("workflow %j", async (args, message) => {
    const { code, out } = await run(["workflow", ...args, "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([2, { error: { code: "CLI.ARGUMENT", message: expect.stringContaining(message) } }]);
  });

  test.each([
    [["probe", "--route", "mail"], "expected --route to be one of tenant.subscription., mail., "],
    [["probe", "--timeout", "soon"], "expected a duration such as"],
    [["tail", "--interval", "0.5"], "expected a duration such as"],
    [["tail", "--interval", "25d"], "expected a duration of at most 1d"],
    [["reconcile", "--since", "2027-02-29"], "expected a time such as"],
    [[], "expected a command, got none"],
    [["tail", "--status", "SLEEPING"], "expected PENDING, PROCESSING, DONE, FAILED, CANCELLED"],
  ])("outbox %j", async (args, message) => {
    const { code, out } = await run(["outbox", ...args, "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([2, { error: { code: "CLI.ARGUMENT", message: expect.stringContaining(message) } }]);
  });

  test("an unknown command", async () => {
    expect(await run(["outbox", "replay"])).toMatchObject({ code: 2, err: expect.stringContaining("unknown command") });
  });
});

describe("the jitter of a bulk", () => {
  const options = { actor: "ann", batchSize: 100 };
  test("grows with the bulk, up to a minute", () => {
    expect([1, 20, 1_000_000].map((events) => jitterMsOf(options, events))).toEqual([20, 400, 60_000]);
  });
  test("is what was asked for, up to an hour", () => {
    expect(jitterMsOf({ ...options, jitter: 3_600_000 }, 5)).toBe(3_600_000);
    expect(() => jitterMsOf({ ...options, jitter: 3_600_001 }, 5)).toThrow("expected --jitter of at most 1h");
  });
});

describe("progress goes to the error output", () => {
  test("as plain lines where that is no terminal", () => {
    const { io, out, err } = captureIo();
    const progress = createProgress(io, "requeued", 20);
    progress.step(10);
    progress.step(20);
    progress.end();
    expect([out(), err()]).toEqual(["", "requeued 10/20\nrequeued 20/20\n"]);
  });

  test("as one bar that redraws itself on a terminal", () => {
    const { io, err } = captureIo({ isTTY: true });
    const progress = createProgress(io, "requeued", 20);
    progress.step(10);
    progress.end();
    expect(err()).toBe(`\r\u001b[K${"█".repeat(15)}${"░".repeat(15)} requeued 10/20\n`);
  });
});

test("table columns line up, whatever their cells hold, and a cell keeps to one line", () => {
  const { io } = captureIo();
  const lines = table(
    io,
    ["ID", "ERROR"],
    [
      ["a", "first\nsecond"],
      ["longer", ""],
    ],
  ).split("\n");
  expect(lines).toEqual(["ID      ERROR", "a       first second", "longer"]);
});
