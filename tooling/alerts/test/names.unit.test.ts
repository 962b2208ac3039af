import { METRICS } from "@toolctrl/runtime/metrics";
import { describe, expect, test } from "vitest";
import { parseDashboard, queriesOf, readDashboard } from "../src/dashboard.ts";
import { lopsidedBounds } from "../src/lopsided-bounds.ts";
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

test("an alert on what a counter has gained sees what a series held when it was first scraped", () => {
  const gains = readAlerts().flatMap(({ expr }) =>
    [...expr.matchAll(/increase\((\w+)(.*?)\[(\w+)\]\)/g)].map((found) => ({ expr, found })),
  );
  expect(gains.length).toBeGreaterThan(5);
  for (const { expr, found } of gains) {
    const [gain, name = "", matchers = "", window = ""] = found;
    expect(expr).toContain(`(${name}${matchers} unless ${name} offset ${window}) or ${gain}`);
  }
});

describe('a bucket\'s bound is found as each Prometheus stores it, le="1" before 3.0 and le="1.0" since', () => {
  test("by the alert rules and the dashboard", () => {
    const queries = [...readAlerts(), ...queriesOf(readDashboard())].map(({ expr }) => expr);
    expect(queries.flatMap(lopsidedBounds)).toEqual([]);
  });

  test("and a query that knows one of them is refused", () => {
    const bucket = (matcher: string): string => `rate(outbox_tick_seconds_bucket{${matcher}}[5m])`;
    const one = ['le="1"', 'le="1.0"', 'code="x", le = "10"', 'le!="5"', 'le=~"0.5|1"', 'le="2"', "le='30'", 'le=~"1(\\\\.0)?|5"'];
    for (const matcher of one)
      expect(lopsidedBounds(bucket(matcher))).toEqual([expect.stringMatching(/as le="\d+" and as le="\d+\.0", got/)]);
    const both = ['le=~"1.*"', 'le=~"1(\\\\.0)?"', 'le="0.5"', 'le="+Inf"', 'le!~"10(\\\\.0)?"', 'code="1"', 'role="1"'];
    for (const matcher of both) expect(lopsidedBounds(bucket(matcher))).toEqual([]);
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
