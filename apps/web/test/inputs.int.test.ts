import { expect, test } from "vitest";
import { ask, manual, note } from "./definitions.ts";
import { openWeb, type Web } from "./support.ts";

async function openQuestion(web: Web): Promise<{ runId: string; inputId: string }> {
  const runId = await web.startRun(await web.addWorkflow(manual([ask("ask"), note("after")])));
  await web.work(runId);
  const { body } = await web.call("GET", "/api/inputs");
  const { inputs } = body as unknown as { inputs: Array<{ id: string }> };
  expect(inputs).toMatchObject([{ executionId: runId, title: "Question ask", status: "open" }]);
  return { runId, inputId: inputs[0]?.id ?? "" };
}

test("of two answers at once one counts, and the other is told so; a worker goes on once", async () => {
  const web = await openWeb();
  const { runId, inputId } = await openQuestion(web);
  const answers = await Promise.all(["yes", "no"].map((answer) => web.call("POST", `/api/inputs/${inputId}`, { value: { answer } })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 409)?.body.error?.code).toBe("WORKFLOW.INPUT_ANSWERED");
  const winner = answers[0]?.status === 200 ? "yes" : "no";
  expect((await web.call("GET", "/api/inputs")).body).toEqual({ inputs: [] });
  expect((await web.call("GET", `/api/runs/${runId}`)).body).toMatchObject({ run: { status: "waiting" } });
  await web.work(runId);
  expect((await web.call("GET", `/api/runs/${runId}`)).body).toMatchObject({
    run: { status: "success", inputs: [{ status: "submitted", value: { answer: winner }, answeredBy: "key:test" }] },
  });
});

test("an answer that comes too late is told so", async () => {
  const web = await openWeb();
  const { inputId } = await openQuestion(web);
  await web.database.pool.query(`UPDATE "WorkflowInput" SET "expiresAt" = clock_timestamp()`);
  expect(await web.call("POST", `/api/inputs/${inputId}`, { value: { answer: "late" } })).toMatchObject({
    status: 410,
    body: { error: { code: "WORKFLOW.INPUT_EXPIRED" } },
  });
});

test("an answer that does not fit is told what is wrong, and the question stays open", async () => {
  const web = await openWeb();
  const { inputId } = await openQuestion(web);
  expect(await web.call("POST", `/api/inputs/${inputId}`, { value: { answer: 7, more: 1 } })).toMatchObject({
    status: 422,
    body: { error: { code: "WORKFLOW.INPUT_INVALID" } },
  });
  expect(await web.call("POST", `/api/inputs/${inputId}`, { value: { answer: "yes" } })).toMatchObject({
    status: 200,
    body: { input: { status: "submitted" } },
  });
});
