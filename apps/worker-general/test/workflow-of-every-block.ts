import type { Queryable } from "@toolctrl/db/sql";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import type { ReceivedRequest } from "@toolctrl/testkit/http-peer";
import type { ExecutionView } from "@toolctrl/workflow/executions";
import { expect } from "vitest";

const NODES: (url: string) => WorkflowDefinitionInput["nodes"] = (url) => [
  { id: "create", block: "rowCreate", config: { table: "order", data: { name: "{{ trigger.name }}" } } },
  { id: "update", block: "rowUpdate", config: { table: "order", id: "{{ steps.create.id }}", data: { state: "checked" } } },
  { id: "large", block: "if", config: { condition: "trigger.amount > 100" } },
  { id: "kind", block: "switch", config: { value: "trigger.kind", cases: [{ name: "gift", equals: "gift" }] } },
  { id: "mail", block: "email", config: { to: "ann@example.test", subject: "Order of {{ trigger.name }}", text: "We have it." } },
  {
    id: "call",
    block: "httpRequest",
    config: { method: "POST", url: `${url}/orders`, body: { json: { order: "{{ steps.create.id }}" } }, timeoutSeconds: 5 },
    retry: { maxAttempts: 3, backoffSeconds: 1 },
  },
  { id: "ask", block: "waitForInput", config: { title: "Send it?", fields: [{ name: "approved", label: "Approved", type: "boolean" }] } },
  { id: "remove", block: "rowDelete", config: { table: "order", id: "{{ steps.create.id }}" } },
  { id: "unwanted", block: "rowCreate", config: { table: "order", data: {} } },
];

/** A workflow that has every kind of block; of its two decisions each has a way to a step that must not run. */
export function workflowOfEveryBlock(url: string): WorkflowDefinitionInput {
  return {
    name: "every block",
    trigger: {
      type: "manual",
      input: [
        { name: "name", label: "Name", type: "text" },
        { name: "amount", label: "Amount", type: "number" },
        { name: "kind", label: "Kind", type: "text" },
      ],
    },
    start: "create",
    nodes: NODES(url),
    edges: [
      { from: "create", to: "update" },
      { from: "update", to: "large" },
      { from: "large", branch: "then", to: "kind" },
      { from: "large", branch: "else", to: "unwanted" },
      { from: "kind", branch: "gift", to: "mail" },
      { from: "kind", branch: "default", to: "unwanted" },
      { from: "mail", to: "call" },
      { from: "call", to: "ask" },
      { from: "ask", to: "remove" },
      { from: "remove", to: null },
      { from: "unwanted", to: null },
    ],
  };
}

/** How each step of a run that nothing disturbs ends. */
const STEPS = {
  create: "done by next",
  update: "done by next",
  large: "done by then",
  kind: "done by gift",
  mail: "done by next",
  call: "done by next",
  ask: "done by next",
  remove: "done by next",
  unwanted: "skipped",
};

/** What a run that nothing disturbs publishes, but for what has it go on. */
const EVENTS = {
  "mail.message.send": 1,
  "plugin.hook.workflow.executed": 1,
  "record.order.created": 1,
  "record.order.deleted": 1,
  "record.order.updated": 1,
  "workflow.execution.requested": 1,
  "workflow.trigger.event": 3,
};

export interface Observed {
  readonly view: ExecutionView;
  /** All that the peer was asked, by other runs too. */
  readonly requests: readonly ReceivedRequest[];
  readonly pool: Queryable;
}

/** Throws where a run has not ended as one that nothing disturbs: each step once, with its effect; and its request as often as is recorded. */
export async function expectWholeRun({ view, requests, pool }: Observed, run: { readonly crashed: boolean }): Promise<void> {
  const { steps, inputs, status, tenantId } = view;
  expect([status, view.reason]).toEqual(["success", null]);
  const ends = steps.map(({ nodeId, status: end, branch }) => [nodeId, branch === null ? end : `${end} by ${branch}`] as const);
  expect(Object.fromEntries(ends)).toEqual(STEPS);
  expect(ends).toHaveLength(Object.keys(STEPS).length);
  expect(inputs.map((input) => [input.status, input.value])).toEqual([["submitted", { approved: true }]]);
  expect(await eventsOf(pool, tenantId)).toEqual(EVENTS);
  expect(await rowsLeft(pool, tenantId)).toEqual({ rows: 0, happened: 3 });
  expectRequests(view, requests, run);
}

/** One request, or after a crash a repeat that its step has recorded as unknown. Caution without a repeat is allowed. */
function expectRequests(
  { id, steps }: ExecutionView,
  requests: readonly ReceivedRequest[],
  { crashed }: { readonly crashed: boolean },
): void {
  const { attempts = 0, unknowns = 0 } = steps.find(({ nodeId }) => nodeId === "call") ?? {};
  expect(unknowns).toBeLessThanOrEqual(crashed ? 1 : 0);
  expect(attempts).toBe(1 + unknowns);
  const ours = requests.filter(({ headers }) => String(headers["idempotency-key"]).startsWith(id));
  expect(ours.length).toBeGreaterThanOrEqual(1);
  expect(ours.length).toBeLessThanOrEqual(attempts);
  const order = steps.find(({ nodeId }) => nodeId === "create")?.output as { id: string };
  const sent = ours.map(({ headers, text }) => `${String(headers["idempotency-key"])} ${text}`);
  expect(new Set(sent)).toEqual(new Set([`${id}-call-0-0 ${JSON.stringify({ order: order.id })}`]));
}

async function eventsOf(pool: Queryable, tenantId: string): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ type: string; n: number }>(
    `SELECT "eventType" AS "type", count(*)::int AS "n" FROM "OutboxEvent"
     WHERE "tenantId" = $1 AND "eventType" <> 'workflow.execution.continue.requested' GROUP BY 1 ORDER BY 1`,
    [tenantId],
  );
  return Object.fromEntries(rows.map(({ type, n }) => [type, n]));
}

async function rowsLeft(pool: Queryable, tenantId: string): Promise<{ rows: number; happened: number } | undefined> {
  const { rows } = await pool.query<{ rows: number; happened: number }>(
    `SELECT (SELECT count(*)::int FROM "Row" WHERE "tenantId" = $1) AS "rows",
       (SELECT count(*)::int FROM "ApplicationEvent" WHERE "tenantId" = $1) AS "happened"`,
    [tenantId],
  );
  return rows[0];
}
