import { readText } from "@toolctrl/docs-check/repository";
import { z } from "zod";

export const DASHBOARD = "deploy/grafana/outbox.json";
/** Columns of Grafana's grid. */
const COLUMNS = 24;

const place = z
  .strictObject({ h: z.int().positive(), w: z.int().positive(), x: z.int().nonnegative(), y: z.int().nonnegative() })
  .refine(({ x, w }) => x + w <= COLUMNS, `expected a panel to end within ${COLUMNS} columns`);

const row = z.strictObject({
  id: z.int().positive(),
  type: z.literal("row"),
  title: z.string().min(1),
  collapsed: z.literal(false),
  gridPos: place,
  panels: z.array(z.never()),
});

const target = z.strictObject({ refId: z.string().regex(/^[A-Z]$/), expr: z.string().min(1), legendFormat: z.string().min(1) });

const timeseries = z.strictObject({
  id: z.int().positive(),
  type: z.literal("timeseries"),
  title: z.string().min(1),
  description: z.string(),
  datasource: z.strictObject({ type: z.literal("prometheus"), uid: z.literal("${datasource}") }),
  gridPos: place,
  fieldConfig: z.strictObject({
    defaults: z.strictObject({ unit: z.enum(["short", "s", "ops"]), min: z.literal(0) }),
    overrides: z.array(z.never()),
  }),
  options: z.strictObject({ legend: z.looseObject({ showLegend: z.literal(true) }), tooltip: z.looseObject({}) }),
  targets: z
    .array(target)
    .min(1)
    .refine(
      (targets) => new Set(targets.map(({ refId }) => refId)).size === targets.length,
      "expected each query of a panel to have a letter of its own",
    ),
});

const dashboard = z
  .strictObject({
    uid: z.string().regex(/^[a-z-]{1,40}$/),
    title: z.string(),
    tags: z.array(z.string()),
    timezone: z.literal("browser"),
    schemaVersion: z.int().min(36),
    version: z.int(),
    refresh: z.string(),
    time: z.strictObject({ from: z.string(), to: z.literal("now") }),
    templating: z.strictObject({
      list: z.tuple([
        z.strictObject({ name: z.literal("datasource"), label: z.string(), type: z.literal("datasource"), query: z.literal("prometheus") }),
      ]),
    }),
    panels: z.array(z.discriminatedUnion("type", [row, timeseries])),
  })
  .refine(({ panels }) => new Set(panels.map(({ id }) => id)).size === panels.length, "expected each panel to have an id of its own")
  .refine(
    ({ panels }) => panels.every((one, index) => panels.slice(index + 1).every((other) => !overlap(one.gridPos, other.gridPos))),
    "expected each panel to have a place of its own",
  );

export type Dashboard = z.output<typeof dashboard>;

/** @throws ZodError when it is not what Grafana takes, or not what ours keeps to. */
export function parseDashboard(json: unknown): Dashboard {
  return dashboard.parse(json);
}

export function readDashboard(): Dashboard {
  return parseDashboard(JSON.parse(readText(DASHBOARD)));
}

/** Every query of a dashboard, with the title of its panel. */
export function queriesOf({ panels }: Dashboard): Array<{ readonly panel: string; readonly expr: string }> {
  return panels.flatMap((panel) => (panel.type === "row" ? [] : panel.targets.map(({ expr }) => ({ panel: panel.title, expr }))));
}

function overlap(a: z.output<typeof place>, b: z.output<typeof place>): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}
