import { rowCreate, rowUpdate } from "@toolctrl/domain/rows";
import { MAX_WORKFLOW_DEPTH, type WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { openRig, TENANT, type Rig } from "./rig.ts";
import { addWorkflow, chainOf } from "./workflows.ts";

const BY_ANN = { kind: "request", actor: "ann" } as const;

test("a workflow that changes the row that starts it is stopped, with the reason on record, and another record's workflow runs", async () => {
  const rig = await openRig();
  const ticket = await addRow(rig, "ticket");
  const loop = await addWorkflow(ofTenant(rig), changes("turn", "ticket", { table: "ticket", id: "{{ trigger.recordId }}" }));
  const letters = await addWorkflow(ofTenant(rig), {
    name: "letters",
    trigger: { type: "row", table: "letter", on: ["created"] },
    ...chainOf([{ id: "note", block: "rowCreate", config: { table: "note", data: { of: "{{ trigger.recordId }}" } } }]),
  });
  await rig.start("general");
  await change(rig, "ticket", ticket);
  const letter = await addRow(rig, "letter", BY_ANN);
  await untilStopped(rig);
  expect(await runsOf(rig, [loop])).toEqual(TURNS.map((turn) => ({ ...turn, workflowId: loop })));
  await waitFor(async () => (await runsOf(rig, [letters])).every(({ status }) => status === "success"), {
    what: "the letter's workflow to run",
  });
  expect(await runsOf(rig, [letters])).toMatchObject([{ status: "success", depth: 0 }]);
  expect((await readRows(rig, "note")).map(({ data }) => data)).toEqual([{ of: letter }]);
  // The change of a person, and one of each run that was not stopped.
  expect((await readRows(rig, "ticket")).map(({ revision }) => revision)).toEqual([1 + 1 + MAX_WORKFLOW_DEPTH]);
});

test("two workflows that start each other are stopped, with the reason on record", async () => {
  const rig = await openRig();
  const [a, b] = [await addRow(rig, "a"), await addRow(rig, "b")];
  const there = await addWorkflow(ofTenant(rig), changes("there", "a", { table: "b", id: b }));
  const back = await addWorkflow(ofTenant(rig), changes("back", "b", { table: "a", id: a }));
  await rig.start("general");
  await change(rig, "a", a);
  await untilStopped(rig);
  expect(await runsOf(rig, [there, back])).toEqual(TURNS.map((turn) => ({ ...turn, workflowId: turn.depth % 2 === 0 ? there : back })));
});

/** The runs of a loop from the first one to the one that is stopped. */
const TURNS = Array.from({ length: MAX_WORKFLOW_DEPTH + 1 }, (_, depth) =>
  depth < MAX_WORKFLOW_DEPTH
    ? { depth, status: "success", reasonCode: null }
    : { depth, status: "rejected", reasonCode: "WORKFLOW.LOOP_STOPPED" },
);

function ofTenant({ database }: Rig): Parameters<typeof addWorkflow>[0] {
  return { database, tenantId: TENANT };
}

/** A workflow that changes a row when one of a table was changed. */
function changes(name: string, table: string, row: { readonly table: string; readonly id: string }): WorkflowDefinitionInput {
  const update = { id: "update", block: "rowUpdate", config: { ...row, data: { by: "{{ run.id }}" } } } as const;
  return { name, trigger: { type: "row", table, on: ["updated"] }, ...chainOf([update]) };
}

async function addRow({ database }: Rig, table: string, context?: typeof BY_ANN): Promise<string> {
  const { row } = await database.prisma.$transaction((tx) => rowCreate(tx, { tenantId: TENANT, table, data: {}, context }));
  return row.id;
}

async function change({ database }: Rig, table: string, id: string): Promise<void> {
  await database.prisma.$transaction((tx) => rowUpdate(tx, { tenantId: TENANT, table, id, data: { by: "ann" }, context: BY_ANN }));
}

interface Run {
  readonly workflowId: string;
  readonly depth: number;
  readonly status: string;
  readonly reasonCode: string | null;
}

async function runsOf({ database }: Rig, workflows: readonly string[]): Promise<Run[]> {
  const { rows } = await database.pool.query<Run>(
    `SELECT "workflowId"::text AS "workflowId", "depth", "status", "reasonCode" FROM "WorkflowExecution"
     WHERE "workflowId" = ANY ($1::uuid[]) ORDER BY "depth", "id"`,
    [workflows],
  );
  return rows;
}

/** Until a run was stopped, and no event is left that could start another one. */
async function untilStopped({ database }: Rig): Promise<void> {
  const sql = `SELECT 1 FROM "WorkflowExecution" WHERE "status" = 'rejected'
    AND NOT EXISTS (SELECT 1 FROM "OutboxEvent" e WHERE e."eventType" LIKE 'workflow.%' AND NOT EXISTS
      (SELECT 1 FROM "OutboxReceipt" r WHERE r."eventId" = e."id" AND r."outcome" = 'done'))`;
  await waitFor(async () => (await database.pool.query(sql)).rowCount === 1, { what: "the loop to be stopped", timeoutMs: 30_000 });
}

async function readRows({ database }: Rig, table: string): Promise<{ data: unknown; revision: number }[]> {
  const { rows } = await database.pool.query<{ data: unknown; revision: number }>(
    `SELECT "data", "revision" FROM "Row" WHERE "table" = $1`,
    [table],
  );
  return rows;
}
