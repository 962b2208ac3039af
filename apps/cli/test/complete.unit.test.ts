import { PassThrough } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import type { Io } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";

afterEach(() => void vi.restoreAllMocks());

/** Runs a command line that writes to the process's own output, and gives what it wrote. */
async function written(...args: string[]): Promise<{ code: number; lines: string[] }> {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((text: string) => void lines.push(...text.split("\n")));
  const io = { out: new PassThrough(), err: new PassThrough(), in: process.stdin, canAsk: false } as unknown as Io;
  return { code: await runCli(args, io), lines };
}

/** What a shell is offered for the last word. */
async function offered(...words: string[]): Promise<string[]> {
  const { code, lines } = await written("complete", "--", ...words);
  expect(code).toBe(0);
  return lines.filter((line) => !line.startsWith(":")).map((line) => line.split("\t")[0] ?? "");
}

test("a shell is offered the commands, then those of a command", async () => {
  expect(await offered("")).toEqual(["doctor", "db", "outbox", "workflow", "leads", "audit", "complete", "help"]);
  expect(await offered("outbox", "")).toEqual(expect.arrayContaining(["list", "probe", "requeue", "tail", "trace"]));
  expect(await offered("outbox", "ta")).toEqual(["tail"]);
  expect(await offered("workflow", "re")).toEqual(["retry"]);
});

test("and the options of the one that was typed, the program's own among them, and an argument's choices", async () => {
  const options = await offered("outbox", "tail", "--");
  expect(options.sort()).toEqual(["--from", "--help", "--interval", "--json", "--status", "--tenant", "--to", "--type"]);
  expect(await offered("outbox", "requeue", "--repl")).toEqual(["--replay"]);
  expect(await offered("complete", "")).toEqual(["bash", "zsh", "fish", "powershell"]);
});

test("there is a script for each shell, and none for another", async () => {
  for (const shell of ["bash", "zsh", "fish", "powershell"]) {
    const { code, lines } = await written("complete", shell);
    expect([code, lines.join("\n")]).toEqual([0, expect.stringContaining("toolctrl-cli")]);
  }
  expect((await written("complete", "tcsh")).code).toBe(2);
});
