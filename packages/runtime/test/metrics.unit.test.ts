import { expect, test } from "vitest";
import { createMetrics, METRIC_LABELS, METRICS } from "../src/metrics.ts";

test("no metric has a label for a tenant, an event or a record", () => {
  expect(METRIC_LABELS.filter((label) => /tenant|event|record|id$|key|type/i.test(label))).toEqual([]);
  for (const [name, metric] of Object.entries(METRICS)) {
    expect(
      metric.labels.every((label) => (METRIC_LABELS as readonly string[]).includes(label)),
      name,
    ).toBe(true);
    expect(new Set(metric.labels).size, name).toBe(metric.labels.length);
  }
});

test("names say what is counted: counters end in _total, times in _seconds", () => {
  for (const [name, metric] of Object.entries(METRICS)) {
    expect(name, name).toMatch(/^[a-z]+(?:_[a-z]+)+$/);
    expect(name.endsWith("_total"), name).toBe(metric.kind === "counter");
    expect(metric.kind !== "histogram" || name.endsWith("_seconds"), name).toBe(true);
  }
});

test("every declared metric is in the text, with what was recorded", async () => {
  const metrics = createMetrics({ processMetrics: false });
  metrics.add("outbox_claims_total", 3);
  metrics.add("outbox_settles_total", 2, { outcome: "done" });
  metrics.add("outbox_settles_total", 1, { outcome: "done" });
  metrics.set("outbox_backlog", 12);
  metrics.observe("outbox_consumer_seconds", 0.2, { consumer: "mail-render" });
  const text = await metrics.text();
  for (const name of Object.keys(METRICS)) expect(text).toContain(`# HELP ${name} `);
  expect(text).toContain("outbox_claims_total 3");
  expect(text).toContain('outbox_settles_total{outcome="done"} 3');
  expect(text).toContain("outbox_backlog 12");
  expect(text).toContain('outbox_consumer_seconds_count{consumer="mail-render"} 1');
});

test("two registries in one process do not mix", async () => {
  const [a, b] = [createMetrics(), createMetrics()];
  a.add("outbox_claims_total", 5);
  expect(await b.text()).toContain("outbox_claims_total 0");
  expect(await b.text()).toContain("process_resident_memory_bytes");
});

test("docs/reference/metrics.md is what the table says", async () => {
  const rows = Object.entries(METRICS).map(
    ([name, { kind, labels, help }]) => `| \`${name}\` | ${kind} | ${labels.join(", ") || "none"} | ${help} |`,
  );
  const intro = [
    "# Metrics",
    "Generated from the table of `@toolctrl/runtime/metrics`; after a change there, `pnpm exec vitest run packages/runtime/test/metrics.unit.test.ts -u` writes it again.",
    "Reading `/metrics` never touches the database: gauges hold what a sampler last set. No label holds a tenant, an event or a record. Node's own process metrics come beside these.",
  ];
  const page = `${intro.join("\n\n")}\n\n| Metric | Kind | Labels | What it counts |\n| --- | --- | --- | --- |\n${rows.join("\n")}\n`;
  await expect(page).toMatchFileSnapshot("../../../docs/reference/metrics.md");
});
