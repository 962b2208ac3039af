import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { createEmptyDatabase } from "@toolctrl/testkit/template-db";
import { expect, onTestFinished, test } from "vitest";
import { followTutorial } from "../src/tutorial/follow-tutorial.ts";
import { readSteps } from "../src/tutorial/read-steps.ts";

const APP = join(ROOT, "examples/product-app");

/** An empty folder that finds the workspace's packages, on their sources; `pnpm packages:check` has one that does not. */
async function openFolder(): Promise<{ folder: string; env: NodeJS.ProcessEnv }> {
  const folder = mkdtempSync(join(APP, ".tutorial-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const [{ url }, port] = await Promise.all([createEmptyDatabase(), findFreePort()]);
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH ?? ""}`;
  return { folder, env: { PATH, DATABASE_URL: url, PORT: String(port), NODE_OPTIONS: "--conditions=source" } };
}

test("a product's first event has its effect once, as the tutorial says, and one that is published without a worker has it later", async () => {
  const outputs = await followTutorial({ ...(await openFolder()), skip: /^npm / });
  expect(outputs).toHaveLength(4);
  expect(outputs.at(-1)).toBe(
    '[{"order":1,"item":"tea","messages":["Your tea is on its way."]},{"order":2,"item":"coffee","messages":["Your coffee is on its way."]}]',
  );
});

test("the files of the example are those that the tutorial shows", () => {
  const shown = readSteps().flatMap((step) => (step.kind === "write" ? [[step.file, step.text]] : []));
  const files = ["migrate.ts", "app.ts", "worker.ts"].map((file) => [file, readFileSync(join(APP, file), "utf8")]);
  expect(shown).toEqual(files);
});

test("a tutorial that shows what is not so, or whose command fails, is found", async () => {
  const { folder, env } = await openFolder();
  const follow = (text: string): Promise<string[]> => followTutorial({ folder, env, steps: readSteps(text) });
  await expect(follow("```sh\necho POST 1\n```\n\n```json\nPOST 2\n```\n")).rejects.toThrow("to print POST 2, got POST 1");
  await expect(follow("```sh\ntrue\nls nothing\n```\n")).rejects.toThrow(/`ls nothing` to end with 0, got 2/);
});
