import { describe, expect, test } from "vitest";
import { ask, manual, note, notesOf, openBench, TENANT, type Bench } from "./support.ts";

const ROUNDS = 200;

/** Two branches from one step that meet in one. */
function diamond(a: ReturnType<typeof note>, b: ReturnType<typeof note>) {
  return manual(
    [note("start"), a, b, note("join")],
    [
      { from: "start", to: a.id },
      { from: "start", to: b.id },
      { from: a.id, to: "join" },
      { from: b.id, to: "join" },
      { from: "join", to: null },
    ],
  );
}

async function outcomeOf(bench: Bench): Promise<{ finished: number; notes: Record<string, number> }> {
  return { finished: await bench.count(`FROM "WorkflowExecution" WHERE "status" = 'success'`), notes: await notesOf(bench) };
}

const ONCE = { finished: ROUNDS, notes: { join: ROUNDS, start: ROUNDS } };

test(`two branches whose calls end in the same millisecond: in ${ROUNDS} rounds the join runs once each time, and nothing is stuck`, async () => {
  let first: (() => void) | null = null;
  const bench = await openBench(async () => {
    // Both calls are answered together.
    if (first === null) await new Promise<void>((resolve) => void (first = resolve));
    else {
      first();
      first = null;
    }
    return { status: 200 };
  });
  const call = (id: string) => ({ id, block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/${id}` } });
  const workflowId = await bench.add(diamond(call("a"), call("b")));
  for (let round = 0; round < ROUNDS; round += 1) {
    const key = await bench.start(workflowId);
    const ends = await Promise.all([bench.run(key), bench.run(key)]);
    // Who came second to a call of the other's is told to look again, as its job would.
    if (!ends.some(({ kind }) => kind === "ended")) await bench.run(key);
  }
  expect(await outcomeOf(bench)).toEqual(ONCE);
  expect(bench.http.requests).toHaveLength(2 * ROUNDS);
}, 120_000);

test(`two questions answered together: in ${ROUNDS} rounds the join runs once each time, and nothing is stuck`, async () => {
  const bench = await openBench();
  const workflowId = await bench.add(diamond(ask("a"), ask("b")));
  for (let round = 0; round < ROUNDS; round += 1) {
    const key = await bench.start(workflowId);
    await bench.run(key);
    const { inputs } = await bench.view(key);
    // Each answer and the job that it makes, beside the other's.
    await Promise.all(
      inputs.map(async ({ id }) => {
        await bench.service.continue({ tenantId: TENANT, inputId: id, value: { answer: id }, answeredBy: "ann" });
        await bench.run(key);
      }),
    );
  }
  expect(await outcomeOf(bench)).toEqual(ONCE);
}, 120_000);

describe("a question", () => {
  test("answered twice at once, with different values, takes one answer: the other is told so, and what follows runs once", async () => {
    const bench = await openBench();
    const workflowId = await bench.add(manual([ask("ask"), note("after", { answer: "{{ steps.ask.value.answer }}" })]));
    for (let round = 0; round < 20; round += 1) {
      const key = await bench.start(workflowId);
      await bench.run(key);
      const inputId = (await bench.view(key)).inputs[0]?.id ?? "";
      const answers = await Promise.allSettled(
        ["yes", "no"].map((answer) => bench.service.continue({ tenantId: TENANT, inputId, value: { answer }, answeredBy: answer })),
      );
      const refused = answers.filter(({ status }) => status === "rejected");
      expect(refused).toMatchObject([{ reason: { code: "WORKFLOW.INPUT_ANSWERED" } }]);
      await Promise.all([bench.run(key), bench.run(key)]);
      const view = await bench.view(key);
      const winner = answers[0]?.status === "fulfilled" ? "yes" : "no";
      expect(view).toMatchObject({ status: "success", inputs: [{ status: "submitted", answeredBy: winner, value: { answer: winner } }] });
      expect(view.steps.at(-1)?.output).toMatchObject({ data: { answer: winner } });
    }
    expect(await notesOf(bench)).toEqual({ after: 20 });
  });

  test("answered after its time resumes nothing; the run leaves by the branch for that, or ends", async () => {
    const bench = await openBench();
    const edges = [
      { from: "ask", to: "answered" },
      { from: "ask", branch: "expired", to: "late" },
      { from: "answered", to: null },
      { from: "late", to: null },
    ];
    const branching = await bench.start(await bench.add(manual([ask("ask", 60), note("answered"), note("late")], edges)));
    const plain = await bench.start(await bench.add(manual([ask("ask", 60), note("answered")])));
    await bench.run(branching);
    await bench.run(plain);
    await bench.makeDue();
    for (const key of [branching, plain]) {
      const inputId = (await bench.view(key)).inputs[0]?.id ?? "";
      const submission = { tenantId: TENANT, inputId, value: { answer: "late" }, answeredBy: "ann" };
      await expect(bench.service.continue(submission)).rejects.toMatchObject({ code: "WORKFLOW.INPUT_EXPIRED" });
    }
    expect(await bench.run(branching)).toEqual({ kind: "ended", status: "success" });
    expect(await bench.run(plain)).toEqual({ kind: "ended", status: "error" });
    expect(await bench.view(plain)).toMatchObject({ reasonCode: "WORKFLOW.INPUT_EXPIRED" });
    expect(await notesOf(bench)).toEqual({ late: 1 });
  });

  test("refuses an answer that does not fit its fields, says where, and stays open", async () => {
    const bench = await openBench();
    const key = await bench.start(await bench.add(manual([ask("ask")])));
    await bench.run(key);
    const inputId = (await bench.view(key)).inputs[0]?.id ?? "";
    const wrong = { tenantId: TENANT, inputId, value: { answer: 7 }, answeredBy: "ann" };
    await expect(bench.service.continue(wrong)).rejects.toMatchObject({
      code: "WORKFLOW.INPUT_INVALID",
      message: expect.stringContaining("answer"),
    });
    await expect(bench.service.continue({ ...wrong, tenantId: "other" })).rejects.toMatchObject({ code: "WORKFLOW.NOT_FOUND" });
    expect((await bench.view(key)).inputs).toMatchObject([{ status: "open" }]);
  });

  test("is asked again in each turn of a loop, and the run leaves it by its answer", async () => {
    const bench = await openBench();
    const decide = { id: "decide", block: "if" as const, config: { condition: `steps.ask.value.answer == "done"` } };
    const edges = [
      { from: "ask", to: "decide" },
      { from: "decide", branch: "then", to: "end" },
      { from: "decide", branch: "else", to: "ask", loop: true as const },
      { from: "end", to: null },
    ];
    const key = await bench.start(await bench.add(manual([ask("ask"), decide, note("end")], edges)));
    for (const answer of ["more", "more", "done"]) {
      expect(await bench.run(key)).toEqual({ kind: "waiting" });
      const inputId = (await bench.view(key)).inputs.find(({ status }) => status === "open")?.id ?? "";
      await bench.service.continue({ tenantId: TENANT, inputId, value: { answer }, answeredBy: "ann" });
    }
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
    expect((await bench.view(key)).steps.filter(({ nodeId }) => nodeId === "ask").map(({ iteration }) => iteration)).toEqual([0, 1, 2]);
    expect(await notesOf(bench)).toEqual({ end: 1 });
  });
});
