import { readText } from "@toolctrl/docs-check/repository";
import { parse } from "yaml";
import { z } from "zod";

export const RULES = "deploy/prometheus/alerts.yml";
export const RULE_TESTS = "deploy/prometheus/alerts.test.yml";

const alert = z.strictObject({
  alert: z.string().regex(/^(?:[A-Z][a-z]+)+$/),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(["page", "ticket"]) }),
  annotations: z.strictObject({ summary: z.string().min(10), runbook: z.string() }),
});
const rulesFile = z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(alert) })) });

const alertTest = z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) });
const testsFile = z.object({ tests: z.array(z.object({ name: z.string(), alert_rule_test: z.array(alertTest) })) });

export type Alert = z.output<typeof alert>;

/** The alert rules, in order. */
export function readAlerts(): Alert[] {
  return rulesFile.parse(parse(readText(RULES))).groups.flatMap(({ rules }) => rules);
}

/** The alerts that each test of the rules expects to fire, and to be quiet, at some time of it. */
export function readAlertTests(): Array<{ readonly name: string; readonly fires: readonly string[]; readonly quiet: readonly string[] }> {
  return testsFile.parse(parse(readText(RULE_TESTS))).tests.map(({ name, alert_rule_test: checks }) => ({
    name,
    fires: checks.flatMap((check) => (check.exp_alerts.length > 0 ? [check.alertname] : [])),
    quiet: checks.flatMap((check) => (check.exp_alerts.length === 0 ? [check.alertname] : [])),
  }));
}
