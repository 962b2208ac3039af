import { expect, test } from "vitest";
import { endLostStream, type ExecutionView } from "../src/executions.ts";
import { ask, manual, note, notesOf, openBench, TENANT } from "./support.ts";

const SIGNAL = new AbortController().signal;
const NEVER = { stopping: SIGNAL, ending: SIGNAL };

test("a streamed run runs in the process that asks for it and is told of after each step, and no job runs it", async () => {
  const bench = await openBench();
  const workflowId = await bench.add(manual([note("a"), note("b")]));
  const told: string[] = [];
  const onView = async (view: ExecutionView): Promise<void> =>
    void told.push(`${view.status} ${view.steps.map(({ nodeId }) => nodeId).join("+")}`.trim());
  expect(await bench.service.stream({ tenantId: TENANT, workflowId }, onView, NEVER)).toEqual({ kind: "ended", status: "success" });
  expect(told).toEqual(["queued", "running a", "running a+b", "success a+b", "success a+b"]);
  expect(await bench.events("workflow.execution.requested")).toEqual([]);
  expect(await notesOf(bench)).toEqual({ a: 1, b: 1 });
});

test("a streamed run that waits for a person is a worker's from then on", async () => {
  const bench = await openBench();
  const workflowId = await bench.add(manual([ask("ask"), note("after")]));
  let last: ExecutionView | undefined;
  expect(await bench.service.stream({ tenantId: TENANT, workflowId }, async (view) => void (last = view), NEVER)).toEqual({
    kind: "waiting",
  });
  const key = { tenantId: TENANT, executionId: last?.id ?? "" };
  expect(await endLostStream(bench.database.pool, key)).toBeNull();
  await bench.service.continue({ tenantId: TENANT, inputId: last?.inputs[0]?.id ?? "", value: { answer: "yes" }, answeredBy: null });
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
});

test("a streamed run whose process is gone ends with the reason once its lease is over, and not before", async () => {
  const bench = await openBench();
  const workflowId = await bench.add(manual([note("a"), note("b")]));
  const gone = new Error("the process was killed");
  let first: ExecutionView | undefined;
  const stopped = bench.service.stream(
    { tenantId: TENANT, workflowId },
    (view) => {
      first ??= view;
      return view.steps.length === 0 ? Promise.resolve() : Promise.reject(gone);
    },
    NEVER,
  );
  await expect(stopped).rejects.toBe(gone);
  const key = { tenantId: TENANT, executionId: first?.id ?? "" };
  expect(await endLostStream(bench.database.pool, key)).toBeGreaterThan(0);
  expect(await bench.view(key)).toMatchObject({ status: "running" });
  await bench.database.pool.query(`UPDATE "WorkflowExecution" SET "streamUntil" = clock_timestamp() - interval '1 second'`);
  expect(await endLostStream(bench.database.pool, key)).toBeNull();
  expect(await bench.view(key)).toMatchObject({ status: "error", reasonCode: "WORKFLOW.STREAM_LOST" });
  expect(await bench.events("plugin.hook.workflow.failed")).toHaveLength(1);
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
});
