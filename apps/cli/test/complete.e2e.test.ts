import { fileURLToPath } from "node:url";
import { spawnCommand } from "@toolctrl/testkit/process";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** What bash does when somebody types a line and presses the tab key; the function is one of bash's package of completions. */
const TYPE_OUTBOX_TAI = `
toolctrl-cli() { node_modules/.bin/node --conditions=source apps/cli/src/main.ts "$@"; }
source <(toolctrl-cli complete bash)
_get_comp_words_by_ref() { words=(toolctrl-cli outbox tai); cword=2; cur=tai; prev=outbox; }
__toolctrl_cli_complete 2> /dev/null
echo "\${COMPREPLY[@]}"`;

test("bash takes the script, asks the program as somebody types, and completes, without a database", async () => {
  const bash = spawnCommand("bash", ["-c", TYPE_OUTBOX_TAI], { cwd: ROOT });
  expect(await bash.waitForExit()).toEqual({ code: 0, signal: null });
  expect([bash.stdout(), bash.stderr()]).toEqual(["tail\n", ""]);
});
