import { MAX_ITERATIONS } from "@toolctrl/foundation/workflows";
import { describe, expect, test } from "vitest";
import { ask, manual, note, notesOf, openBench, TENANT, type Bench } from "./support.ts";

const call = (bench: Bench) => ({
  id: "call",
  block: "httpRequest" as const,
  config: { method: "POST" as const, url: `${bench.http.url}/` },
});

/** Steps that run beside each other after `start`, and meet in `join`. */
function beside(...steps: ReturnType<typeof note>[]) {
  const ways = steps.flatMap(({ id }) => [
    { from: "start", to: id },
    { from: id, to: "join" },
  ]);
  return manual([note("start"), ...steps, note("join")], [...ways, { from: "join", to: null }]);
}

describe("a run in which a step has failed", () => {
  test("is not repeated from beside that step: it would end without it, and without its join", async () => {
    let fail = true;
    const bench = await openBench(() => ({ status: fail ? 400 : 200 }));
    const key = await bench.start(await bench.add(beside(note("b"), call(bench))));
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
    await expect(bench.service.retryFrom({ ...key, nodeId: "b" })).rejects.toMatchObject({
      code: "WORKFLOW.ARGUMENT",
      message: expect.stringContaining("repeat it from call"),
      facts: { nodeId: "b", failed: "call" },
    });
    expect(await bench.view(key)).toMatchObject({ status: "error", retryEpoch: 0, reasonCode: "WORKFLOW.HTTP_STATUS" });
    fail = false;
    await bench.service.retryFrom({ ...key, nodeId: "call" });
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
    expect(await notesOf(bench)).toEqual({ b: 1, join: 1, start: 1 });
    // What has not failed is repeated from anywhere.
    await bench.service.retryFrom({ ...key, nodeId: "b" });
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
    expect(await notesOf(bench)).toEqual({ b: 2, join: 2, start: 1 });
  });

  test("is repeated from a step before it, which takes it in", async () => {
    let fail = true;
    const bench = await openBench(() => ({ status: fail ? 400 : 200 }));
    const key = await bench.start(await bench.add(beside(note("b"), call(bench))));
    await bench.run(key);
    fail = false;
    await bench.service.retryFrom({ ...key, nodeId: "start" });
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
    expect(await notesOf(bench)).toEqual({ b: 2, join: 1, start: 2 });
  });

  test.each([
    ["with nothing left to do", ""],
    ["with a step beside it", `UPDATE "WorkflowStep" SET "status" = 'ready', "branch" = NULL, "finishedAt" = NULL WHERE "nodeId" = 'b'`],
  ])("does not succeed when it was set going all the same, %s", async (_what, reopen) => {
    const bench = await openBench(() => ({ status: 400 }));
    const key = await bench.start(await bench.add(beside(note("b"), call(bench))));
    await bench.run(key);
    await bench.database.pool.query(`UPDATE "WorkflowExecution" SET "status" = 'running', "finishedAt" = NULL; ${reopen}`);
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
    expect(await bench.view(key)).toMatchObject({ reasonCode: "WORKFLOW.STEP_FAILED", reason: expect.stringContaining("call") });
    expect(await bench.events("plugin.hook.workflow.executed")).toEqual([]);
  });
});

test("a run that went round too often failed at the turn that was too many: it is not repeated from beside it", async () => {
  const bench = await openBench();
  const decide = { id: "decide", block: "if" as const, config: { condition: `steps.ask.value.answer == "done"` } };
  const edges = [
    { from: "start", to: "ask" },
    { from: "start", to: "b" },
    { from: "ask", to: "decide" },
    { from: "decide", branch: "then", to: "end" },
    { from: "decide", branch: "else", to: "ask", loop: true as const },
    { from: "b", to: null },
    { from: "end", to: null },
  ];
  const key = await bench.start(await bench.add(manual([note("start"), ask("ask"), note("b"), decide, note("end")], edges)));
  const answer = async (value: string): Promise<void> => {
    const inputId = (await bench.view(key)).inputs.find(({ status }) => status === "open")?.id ?? "";
    await bench.service.continue({ tenantId: TENANT, inputId, value: { answer: value }, answeredBy: "ann" });
  };
  await bench.run(key);
  await bench.database.pool.query(`UPDATE "WorkflowStep" SET "iteration" = ${MAX_ITERATIONS} WHERE "nodeId" = 'ask'`);
  await answer("more");
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
  const { reasonCode, steps } = await bench.view(key);
  expect(reasonCode).toBe("WORKFLOW.LOOP_STOPPED");
  expect(steps.at(-1)).toMatchObject({
    nodeId: "ask",
    iteration: MAX_ITERATIONS + 1,
    status: "failed",
    errorCode: "WORKFLOW.LOOP_STOPPED",
  });
  await expect(bench.service.retryFrom({ ...key, nodeId: "b" })).rejects.toMatchObject({
    code: "WORKFLOW.ARGUMENT",
    facts: { failed: "ask" },
  });
  await bench.service.retryFrom({ ...key, nodeId: "ask" });
  expect(await bench.run(key)).toEqual({ kind: "waiting" });
  await answer("done");
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect(await notesOf(bench)).toEqual({ b: 1, end: 1, start: 1 });
});

describe("a question beside the step that failed", () => {
  test("keeps the answer that was taken before the run ended: a repeat goes on with it, and asks nobody again", async () => {
    const bench = await openBench();
    const key = await bench.start(await bench.add(beside(ask("ask"), call(bench))));
    bench.http.respond(async () => {
      // While the call is on its way, which then ends the run before a turn has seen the answer.
      const inputId = (await bench.view(key)).inputs[0]?.id ?? "";
      await bench.service.continue({ tenantId: TENANT, inputId, value: { answer: "yes" }, answeredBy: "ann" });
      return { status: 400 };
    });
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
    expect(await bench.view(key)).toMatchObject({ inputs: [{ status: "submitted" }] });
    bench.http.respond(() => ({ status: 200 }));
    await bench.service.retryFrom({ ...key, nodeId: "call" });
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
    const { inputs, steps } = await bench.view(key);
    expect(inputs).toHaveLength(1);
    expect(steps.find(({ nodeId }) => nodeId === "ask")?.output).toEqual({ value: { answer: "yes" }, answeredBy: "ann" });
    expect(await notesOf(bench)).toEqual({ join: 1, start: 1 });
  });

  test("has run out as the other one has, and says so when that one is repeated", async () => {
    const bench = await openBench();
    const key = await bench.start(await bench.add(beside(ask("a", 60), ask("b", 60))));
    await bench.run(key);
    await bench.makeDue();
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
    const [first, second] = ["a", "b"];
    const failedOf = async () => (await bench.view(key)).steps.find(({ current, status }) => current && status === "failed")?.nodeId;
    expect(await failedOf()).toBe(first);
    await bench.service.retryFrom({ ...key, nodeId: first });
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
    expect(await bench.view(key)).toMatchObject({ reasonCode: "WORKFLOW.INPUT_EXPIRED" });
    expect(await failedOf()).toBe(second);
    await bench.service.retryFrom({ ...key, nodeId: second });
    expect(await bench.run(key)).toEqual({ kind: "waiting" });
    for (const { id, status } of (await bench.view(key)).inputs) {
      if (status === "open") await bench.service.continue({ tenantId: TENANT, inputId: id, value: { answer: "yes" }, answeredBy: "ann" });
    }
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
    expect(await notesOf(bench)).toEqual({ join: 1, start: 1 });
  });
});
