import { createRouter, ROUTES, type RouteRule } from "@toolctrl/event-router/router";
import { listOutboxEvents, type OutboxEventDefinition } from "@toolctrl/foundation/events";
import { MAX_INLINE_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, MAX_PAYLOAD_DEPTH } from "@toolctrl/foundation/json";
import { QUEUES } from "@toolctrl/foundation/queues";
import { describePayload } from "./payload-fields.ts";
import { tableOf } from "./table.ts";

const KIB = 1024;

/** `docs/reference/events.md`: the catalogue of `@toolctrl/foundation/events` and the routes of `@toolctrl/event-router`. */
export function renderEventsPage(): string {
  return `${[intro(), catalogue(), routes()].join("\n\n")}\n`;
}

function intro(): string {
  return [
    "# Events",
    "Generated from the catalogue of `@toolctrl/foundation/events` and the routes of `@toolctrl/event-router`; after a change there, `pnpm exec vitest run tooling/docs-check/test/pages.unit.test.ts -u` writes it again.",
    "An event type is lowercase and dot-separated, `<domain>.<entity>.<action>`, with more segments and hyphens inside a segment where they help.",
    `A payload is a JSON object of at most ${MAX_PAYLOAD_BYTES / KIB / KIB} MiB and ${MAX_PAYLOAD_DEPTH} levels. Above ${MAX_INLINE_PAYLOAD_BYTES / KIB} KiB it travels by reference: the job carries the event's id, and the consumer gets the payload from the row.`,
  ].join("\n\n");
}

function catalogue(): string {
  const definitions = listOutboxEvents();
  const route = createRouter();
  const rows = definitions.map((definition) => [
    `[\`${definition.type}\`](#${definition.type.replaceAll(".", "")})`,
    String(definition.version),
    `\`${route(definition.type)?.prefix ?? ""}\``,
    definition.tenantVisible ? "yes" : "no",
    definition.pii.map((path) => `\`${path}\``).join(", ") || "none",
  ]);
  return [
    "## Catalogue",
    "The payload of these types is checked when it is published (`PUBLISH.PAYLOAD_SCHEMA`). Any other type takes any JSON object, as version 1. Products add types of their own: [publishing](../guides/publish.md#event-types-of-your-own).",
    "*Tenant-visible* says whether a tenant may see events of the type. *Personal data* names the fields that hold it.",
    tableOf(["Type", "Version", "Route", "Tenant-visible", "Personal data"], rows),
    ...definitions.map(definitionSection),
  ].join("\n\n");
}

function definitionSection({ type, schema }: OutboxEventDefinition): string {
  const { about, fields } = describePayload(schema);
  const rows = fields.map((field) => [`\`${field.name}\``, field.required ? "yes" : "no", field.accepts, field.about]);
  const payload = rows.length === 0 ? "The payload is any JSON object." : tableOf(["Field", "Required", "Accepts", "Meaning"], rows);
  return [`### \`${type}\``, about, payload].filter((part) => part !== "").join("\n\n");
}

function routes(): string {
  return [
    "## Routes",
    "The longest prefix that matches decides; a prefix matches whole segments. An event that no prefix matches becomes `FAILED` at once, with `ROUTER.UNROUTABLE`. *Receipts expected from* are the consumers whose receipts together say that the event had all its effects.",
    "Events of a route without a queue end in the drainer: [after-save effects](../guides/consume.md#after-save-effects).",
    tableOf(["Prefix", "Queue", "Worker", "Receipts expected from"], ROUTES.map(routeRow)),
  ].join("\n\n");
}

function routeRow(rule: RouteRule): string[] {
  const prefix = `\`${rule.prefix}\``;
  if (rule.target === "database")
    return [prefix, "none: after-save effects", "`DONE` in the transaction of the effects", "each effect, in it"];
  const consumers = rule.consumers.map((consumer) => `\`${consumer}\``).join(", ");
  return [prefix, `\`${rule.queue}\``, `worker-${QUEUES[rule.queue]}`, consumers];
}
