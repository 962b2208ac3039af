import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { createMetrics } from "@toolctrl/runtime/metrics";
import { describe, expect, onTestFinished, test } from "vitest";
import { queriesOf, readDashboard } from "../src/dashboard.ts";
import { RULE_TESTS, RULES } from "../src/rules.ts";

function promtool(args: readonly string[], input = ""): { code: number | null; said: string } {
  const { status, stdout, stderr, error } = spawnSync("promtool", args, { cwd: ROOT, encoding: "utf8", input });
  return { code: status, said: error === undefined ? `${stdout}${stderr}` : error.message };
}

const isThere = promtool(["--version"]).code === 0;
const isLeftOut = !isThere && (process.env["CI"] ?? "") === "";
if (isLeftOut)
  process.stderr.write("promtool is not in PATH: the alert rules are NOT tested; install Debian's package prometheus for it\n");

describe.skipIf(isLeftOut)("promtool", () => {
  test("takes the rules", () => {
    expect(promtool(["check", "rules", RULES])).toMatchObject({ code: 0, said: expect.stringContaining("SUCCESS") as string });
  });

  test("has every alert fire when it should, and be quiet when it should not", () => {
    expect(promtool(["test", "rules", RULE_TESTS])).toMatchObject({ code: 0, said: expect.stringContaining("SUCCESS") as string });
  });

  test("takes what a process serves, and has nothing to say about the names", async () => {
    const metrics = createMetrics({ processMetrics: false });
    metrics.add("outbox_settles_total", 2, { outcome: "done" });
    metrics.observe("outbox_consumer_seconds", 0.2, { consumer: "mail-render" });
    expect(promtool(["check", "metrics"], await metrics.text())).toEqual({ code: 0, said: "" });
  });

  test("takes the queries of the dashboard", () => {
    const folder = mkdtempSync(join(tmpdir(), "dashboard-queries-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    // Grafana fills the interval in; as recorded series, which the tool can check.
    const rules = queriesOf(readDashboard()).map(({ expr }, index) => ({
      record: `query:${index}`,
      expr: expr.replaceAll("$__rate_interval", "5m"),
    }));
    expect(rules.length).toBeGreaterThan(30);
    const file = join(folder, "queries.yml");
    writeFileSync(file, JSON.stringify({ groups: [{ name: "queries", rules }] }));
    expect(promtool(["check", "rules", file])).toMatchObject({ code: 0, said: expect.stringContaining("SUCCESS") as string });
  });
});
