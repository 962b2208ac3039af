import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import type { Io } from "../src/io.ts";
import { confirm } from "../src/output/confirm.ts";

function terminal(): { io: Io; type: (keys: string) => void; out: () => string; err: () => string } {
  const texts = { out: "", err: "" };
  const sink = (name: "out" | "err"): NodeJS.WriteStream => {
    const stream = new PassThrough();
    stream.on("data", (chunk: Buffer) => void (texts[name] += chunk.toString()));
    return Object.assign(stream, { isTTY: true, columns: 80, rows: 24 }) as unknown as NodeJS.WriteStream;
  };
  const input = new PassThrough();
  return {
    io: { out: sink("out"), err: sink("err"), in: input as unknown as NodeJS.ReadStream, canAsk: true },
    type: (keys) => void input.write(keys),
    out: () => texts.out,
    err: () => texts.err,
  };
}

describe("the question before an action", () => {
  test("is asked on the error output, and y goes on", async () => {
    const { io, type, out, err } = terminal();
    const answer = confirm(io, "Requeue 20 events?", { yes: false, bulk: true });
    type("y");
    await expect(answer).resolves.toBeUndefined();
    expect(out()).toBe("");
    expect(err()).toContain("Requeue 20 events?");
  });

  test.each([
    ["n", "n"],
    ["return alone", "\r"],
    ["Ctrl-C", "\u0003"],
  ])("%s changes nothing", async (_name, keys) => {
    const { io, type } = terminal();
    const answer = confirm(io, "Requeue 20 events?", { yes: false, bulk: false });
    type(keys);
    await expect(answer).rejects.toThrow("nothing was changed");
  });

  test("is not asked with --yes, nor for events named by their ids where nobody can be asked", async () => {
    const { io, err } = terminal();
    await confirm(io, "?", { yes: true, bulk: true });
    await confirm({ ...io, canAsk: false }, "?", { yes: false, bulk: false });
    expect(err()).toBe("");
    await expect(confirm({ ...io, canAsk: false }, "?", { yes: false, bulk: true })).rejects.toMatchObject({ code: "CLI.ARGUMENT" });
  });
});
