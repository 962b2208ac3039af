import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expectExactlyOneEffect, printReports, type Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { expect, onTestFinished, test } from "vitest";
import { codeBlocksOf } from "../src/code-blocks.ts";
import { exampleOf, makeScratchFolder } from "../src/examples.ts";
import { readText } from "../src/repository.ts";

const GUIDE = "docs/guides/add-a-consumer.md";

/** What the guide's main file finds in its app. */
const APP = `import { loadEnv } from "@toolctrl/runtime/env";
import { workerShape } from "@toolctrl/worker/env";
import { z } from "zod";
import { createAiCostConsumer } from "./consumer.ts";
const readEnv = (source) => loadEnv(z.object(workerShape), source);
const createConsumers = (_env, { pool }) => ({ "ai-cost-record": createAiCostConsumer({ pool }) });
`;

test(
  "the consumer of the guide has exactly one effect by the guide's subject, and the report is the one it shows",
  { timeout: 300_000 },
  async () => {
    const folder = makeScratchFolder();
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const write = (name: string, code: string): void => writeFileSync(join(folder, name), code);
    write("consumer.ts", exampleOf(GUIDE, "export function createAiCostConsumer"));
    write("one-consumer.ts", `${APP}${exampleOf(GUIDE, "runOneConsumer({")}`);
    write("subject.ts", `import { createAiCostConsumer } from "./consumer.ts";\n${exampleOf(GUIDE, "export const aiCostRecord")}`);
    const { aiCostRecord } = (await import(pathToFileURL(join(folder, "subject.ts")).href)) as { aiCostRecord: Subject };
    const reports = await expectExactlyOneEffect({ effect: "database" }, aiCostRecord);
    const shown = codeBlocksOf(readText(GUIDE)).find(({ language }) => language === "text")?.code;
    expect(withoutCount(printReports(reports))).toBe(withoutCount(shown ?? ""));
  },
);

function withoutCount(report: string): string {
  return report.replace(/\d+ crash points/, "some crash points");
}
