import { expect, test } from "vitest";
import { cliInShell } from "./cli.ts";

test("a shell accepts the script, and is answered without a database", async () => {
  const script = await cliInShell(`toolctrl-cli complete bash | bash -n && echo accepted`, {});
  expect([script.code, script.stdout]).toEqual([0, "accepted\n"]);
  const answer = await cliInShell(`toolctrl-cli complete -- outbox tai`, {});
  expect([answer.code, answer.stdout]).toEqual([0, expect.stringMatching(/^tail\tthe changes of the events that match.+\n:\d+\n$/)]);
});
