import { METRICS } from "@toolctrl/runtime/metrics";
import { describe, expect, test } from "vitest";
import { parseDashboard, queriesOf, readDashboard } from "../src/dashboard.ts";
import { readQuery } from "../src/query.ts";
import { readAlerts } from "../src/rules.ts";
import { metricOf, unknownNames } from "../src/unknown-names.ts";

describe("a query", () => {
  test("names its metrics and labels, whatever stands around them", () => {
    const query =
      'sum by (queue, code) (rate(a_total{state=~"x, y{}",mode!="a_b"}[5m]) unless a_total offset 15m) / on (job) b:c > 1e3 or absent(d)';
    expect(readQuery(query)).toEqual({ metrics: ["a_total", "b:c", "d"], labels: ["queue", "code", "job", "state", "mode"] });
  });

  test("that names what no process exposes is found", () => {
    expect(unknownNames("sum by (queue) (outbox_claims_total)")).toEqual([expect.stringContaining("no label queue")]);
    expect(unknownNames("max(outbox_backlogg)")).toEqual([expect.stringContaining("outbox_backlogg is no metric")]);
    expect(unknownNames("outbox_tick_seconds")).toEqual([expect.stringContaining("outbox_tick_seconds is no metric")]);
    expect(unknownNames("outbox_claims_total_bucket")).toEqual([expect.stringContaining("is no metric")]);
    expect(unknownNames("sum by (le) (outbox_tick_seconds_count)")).toEqual([expect.stringContaining("no label le")]);
    expect(unknownNames("time()")).toEqual([expect.stringContaining("expected a metric")]);
    expect(unknownNames("sum by (le, instance) (rate(outbox_consumer_seconds_bucket[5m]))")).toEqual([]);
  });
});

describe("every metric and label exists that is named by", () => {
  test("the alert rules", () => {
    const alerts = readAlerts();
    expect(alerts.length).toBeGreaterThan(15);
    expect(alerts.flatMap(({ expr }) => unknownNames(expr))).toEqual([]);
  });

  test("the dashboard, which shows every metric", () => {
    const queries = queriesOf(readDashboard());
    expect(queries.flatMap(({ expr }) => unknownNames(expr))).toEqual([]);
    const shown = new Set(queries.flatMap(({ expr }) => readQuery(expr).metrics.map(metricOf)));
    expect(Object.keys(METRICS).filter((name) => !shown.has(name as keyof typeof METRICS))).toEqual([]);
  });

  test("the dashboard's descriptions, where they name an alert", () => {
    const named = readDashboard().panels.flatMap((panel) => {
      const [, list = ""] = panel.type === "row" ? [] : (/Alerts?(?: on parked ones)?: ([\w, ]+)\./.exec(panel.description) ?? []);
      return list === "" ? [] : list.split(", ");
    });
    expect(new Set(named)).toEqual(new Set(readAlerts().map(({ alert }) => alert)));
  });
});

test("a dashboard whose panels share an id or a place is refused", () => {
  const { panels, ...rest } = readDashboard();
  const [first, second] = panels;
  if (first === undefined || second === undefined) throw new Error("expected two panels, got fewer");
  expect(() => parseDashboard({ ...rest, panels: [first, { ...second, id: first.id }] })).toThrow(/id of its own/);
  expect(() => parseDashboard({ ...rest, panels: [first, { ...second, gridPos: first.gridPos }] })).toThrow(/place of its own/);
  expect(() => parseDashboard({ ...rest, panels: [{ ...first, gridPos: { ...first.gridPos, x: 1 } }] })).toThrow(/24 columns/);
});
