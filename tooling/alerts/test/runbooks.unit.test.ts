import { listFiles, readText } from "@toolctrl/docs-check/repository";
import { expect, test } from "vitest";
import { readAlerts, readAlertTests } from "../src/rules.ts";

const alerts = readAlerts();
const names = alerts.map(({ alert }) => alert).sort();
/** The test in which everything is as it should be. */
const ORDINARY = "an ordinary two hours";

const pageOf = (alert: string): string => `docs/runbooks/${alert.replace(/(?<!^)[A-Z]/g, "-$&").toLowerCase()}.md`;

test("every alert has a name of its own, and names the runbook that is called like it; no runbook is without an alert", () => {
  expect(new Set(names).size).toBe(names.length);
  expect(alerts.filter(({ alert, annotations }) => annotations.runbook !== pageOf(alert)).map(({ alert }) => alert)).toEqual([]);
  expect(listFiles("docs/runbooks/*.md")).toEqual(names.map(pageOf).sort());
});

test.each(alerts)("the runbook of $alert says what it means, how to see it, what to do and when it is over", ({ alert, annotations }) => {
  const text = readText(annotations.runbook);
  expect(text.split("\n")[0]).toBe(`# ${alert}`);
  expect([...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title)).toEqual(expect.arrayContaining(["See", "Do", "Over when"]));
  expect(text).toContain("```sh\n");
});

test("every alert fires in a test of the rules, and is quiet in the same test until then", () => {
  const others = readAlertTests().filter(({ name }) => !name.startsWith(ORDINARY));
  expect([...new Set(others.flatMap(({ fires }) => fires))].sort()).toEqual(names);
  expect(others.filter(({ fires, quiet }) => fires.some((alert) => !quiet.includes(alert))).map(({ name }) => name)).toEqual([]);
});

test("every alert is asked for in the ordinary two hours, and none of them fires", () => {
  const ordinary = readAlertTests().filter(({ name }) => name.startsWith(ORDINARY));
  expect(ordinary).toMatchObject([{ fires: [] }]);
  expect([...new Set(ordinary[0]?.quiet)].sort()).toEqual(names);
});
