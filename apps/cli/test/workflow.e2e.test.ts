import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { cliInShell, cliWith, type CliResult } from "./cli.ts";
import { APPROVAL, ASK, CALL, chain, MAIL, openWorkflowBench, UPDATE, type WorkflowBench } from "./workflow-bench.ts";

const REQUESTED = "workflow.execution.requested";

let bench: WorkflowBench;
let approval: string;

beforeAll(async () => {
  bench = await openWorkflowBench(503);
  approval = await bench.add(APPROVAL);
});

afterAll(() => bench.close());

test("only the workflow commands load the workflow package; validate opens no database", async () => {
  const hook = `import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      const found = next(name, context);
      if (/packages\\/(?:workflow\\/src|foundation\\/src\\/workflows)/.test(found.url)) process.stderr.write("loads " + found.url + "\\n");
      return found;
    } });`;
  const nodeArgs = ["--import", `data:text/javascript,${encodeURIComponent(hook)}`];
  const [validate, other] = await Promise.all([
    cliWith(["workflow", "validate", "-", "--json"], { nodeArgs, input: JSON.stringify(APPROVAL) }),
    cliWith(["outbox", "show", randomUUID()], { nodeArgs, env: { DATABASE_URL: bench.url } }),
  ]);
  expect([validate.code, validate.json()]).toEqual([0, expect.objectContaining({ valid: true, name: "Approval" })]);
  expect(validate.stderr).toContain("loads ");
  expect([other.code, other.stderr]).toEqual([3, expect.not.stringContaining("loads ")]);
});

test("list: workflows in their order; runs newest first, by status and workflow; none of another tenant", async () => {
  const orders = await bench.add(chain("Orders", [MAIL], { type: "row", table: "order", on: ["created"] }), false);
  const elsewhere = await bench.start(await bench.add(chain("Asks", [ASK])));
  const ended = await bench.start(approval, { order: 0 });
  expect((await bench.call("cancel", ended.id)).code).toBe(0);
  const waiting = await bench.start(approval, { order: 1 });
  const failed = await bench.start(await bench.add(chain("Fails", [UPDATE])));
  const [human, json, limited, runs, runsJson, filtered, other] = await Promise.all([
    bench.spawn("list"),
    bench.spawn("list", "--json"),
    bench.call("list", "--limit", "1"),
    bench.call("list", "--runs"),
    bench.call("list", "--runs", "--limit", "1", "--json"),
    bench.call("list", "--runs", "--status", "WAITING", "--workflow", approval.toUpperCase(), "--json"),
    bench.callAs("globex", "list"),
  ]);
  expect(human.stdout).toMatch(/^ID +NAME +VERSION +LIVE +TRIGGER$/m);
  expect(human.stdout).toMatch(new RegExp(`^${approval} +Approval +1 +yes +manual\n${orders} +Orders +1 +no +row order$`, "m"));
  expect(human.stdout).toContain(`next: \`toolctrl-cli workflow list --tenant 'Ann'\\''s & sons' --runs\``);
  expect(json.json()).toMatchObject({
    more: false,
    workflows: [{ id: approval }, { id: orders, live: false, triggerType: "row", triggerKey: "order" }, {}, {}],
  });
  expect(limited.stdout).toMatch(/Approval(?!.*Orders)[^]*There are more/);
  expect(runs.stdout).toMatch(/^ID +STATUS +WORKFLOW +VERSION +STARTED BY +CREATED +FINISHED +REASON$/m);
  expect(runs.stdout).toMatch(
    new RegExp(
      `^${failed.id} +error .* ROW\\.NOT_FOUND\n${waiting.id} +waiting +${approval} +1 +person .*\n${ended.id} .*\n${elsewhere.id} `,
      "m",
    ),
  );
  expect(runsJson.json()).toMatchObject({ more: true, runs: [{ id: failed.id, status: "error" }] });
  expect(filtered.json()).toMatchObject({ more: false, runs: [{ id: waiting.id, workflowId: approval }] });
  expect(other).toMatchObject({ code: 0, stdout: expect.stringContaining("Tenant globex has no workflow.") });
});

describe("run", () => {
  test("records a run and executes nothing; a second one with its key is the first one; the drainers are hinted", async () => {
    const hints = await bench.hearHints();
    const before = await bench.published(REQUESTED);
    const first = await bench.spawn("run", approval, "--input", `{"order": 7}`, "--key", "order-7", "--json");
    const run = first.json()["run"] as { id: string };
    expect([first.code, first.json()]).toMatchObject([
      0,
      { duplicate: false, run: { status: "queued", startedBy: "person", input: { order: 7 } } },
    ]);
    expect(await bench.view(run.id)).toMatchObject({ status: "queued", steps: [] });
    await hints.waitFor(1);
    const again = await bench.call("run", approval, "--input", `{"order": 8}`, "--key", "order-7");
    expect([again.code, again.stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^Run ${run.id} was started with this key before: it is queued\\.\nfollow it with`)),
    ]);
    expect(await bench.published(REQUESTED)).toBe(before + 1);
  });

  test("of what the workers could not do is recorded as rejected, said, and ends with 4; WORKFLOW_EXECUTOR says what they can do", async () => {
    const credentialId = "0190a0a0-0000-4000-8000-000000000001";
    const workflowId = await bench.add(
      chain("Calls", [{ ...CALL, config: { method: "POST", url: "https://peer.example/", credentialId } }]),
    );
    const runWith = (executor: string): Promise<CliResult> => {
      vi.stubEnv("WORKFLOW_EXECUTOR", executor);
      return bench.call("run", workflowId).finally(() => void vi.stubEnv("WORKFLOW_EXECUTOR", undefined));
    };
    const rejected = await bench.spawn("run", workflowId);
    const [accepted, unknown] = [await runWith("hybrid"), await runWith("browser")];
    expect([rejected.code, rejected.stdout]).toEqual([
      4,
      expect.stringMatching(/: it is rejected\.\nIt is not executed: expected every block .* got call \(httpRequest\)/),
    ]);
    expect(rejected.stdout).toContain("next: Run the workflow with the hybrid or the http executor");
    const [, runId = ""] = /^Recorded run (\S+) of/.exec(rejected.stdout) ?? [];
    expect(await bench.view(runId)).toMatchObject({ status: "rejected", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" });
    expect([accepted.code, accepted.stdout]).toEqual([0, expect.stringContaining("it is queued")]);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("WORKFLOW_EXECUTOR: expected one of native, http, hybrid")]);
    const show = await bench.call("show", runId);
    expect(show.stdout).toMatch(/^reason +WORKFLOW\.UNSUPPORTED_BLOCK: expected every block/m);
    expect(show.stdout).toContain("No step has been made.\n\nnext: Run the workflow with the hybrid");
  });

  test("is refused for a workflow that is switched off (4), for an input that does not fit (2), and for none of the tenant's (3)", async () => {
    const off = await bench.add(chain("Off", [MAIL]), false);
    const before = await bench.published(REQUESTED);
    const [switchedOff, misfit, unknown, foreign] = await Promise.all([
      bench.call("run", off, "--json"),
      bench.call("run", approval, "--input", `{"order": "seven", "more": 1}`, "--json"),
      bench.call("run", "nope", "--json"),
      bench.callAs("globex", "run", approval, "--json"),
    ]);
    expect([switchedOff.code, switchedOff.json()]).toMatchObject([4, { error: { code: "WORKFLOW.NOT_LIVE" } }]);
    expect([misfit.code, misfit.json()]).toMatchObject([
      2,
      { error: { code: "WORKFLOW.INPUT_INVALID", facts: { problems: [{ path: "order" }, { path: "more" }] } } },
    ]);
    expect([unknown.code, unknown.json()]).toMatchObject([3, { error: { code: "WORKFLOW.NOT_FOUND" } }]);
    expect([foreign.code, foreign.json()]).toMatchObject([3, { error: { code: "WORKFLOW.NOT_FOUND" } }]);
    expect(await bench.published(REQUESTED)).toBe(before);
  });
});

describe("show and continue", () => {
  test("show tells how to answer, its command answers when a shell runs it, and the run goes on with that; a second answer is refused", async () => {
    const run = await bench.start(approval, { order: 9 });
    const [question = { id: "" }] = run.inputs;
    const [human, json, foreign] = await Promise.all([
      bench.spawn("show", run.id),
      bench.call("show", run.id, "--json"),
      bench.callAs("globex", "show", run.id),
    ]);
    expect(human.stdout).toMatch(/^status +waiting$/m);
    expect(human.stdout).toMatch(
      /^NODE +TURN +EPOCH +STATUS +BRANCH +ATTEMPTS +UNKNOWNS +DUE +ERROR\napprove +0 +0 +waiting +- +1 +0 +- +-$/m,
    );
    expect(human.stdout).toMatch(/^asks +Ship order 9\?$/m);
    expect(human.stdout).toMatch(/^fields +approved \(boolean\), way \(Ann's van \| mail\), note \(text, optional\)$/m);
    expect(human.stdout).toMatch(/^until +\d{4}-\d\d-\d\dT/m);
    expect(json.json()).toMatchObject({
      id: run.id,
      workflowName: "Approval",
      triggerType: "manual",
      steps: [{ nodeId: "approve" }],
      inputs: [{ status: "open" }],
    });
    expect([foreign.code, foreign.stderr]).toEqual([3, expect.stringContaining("WORKFLOW.NOT_FOUND")]);

    const misfit = await bench.call("continue", question.id, "--value", `{"approved": "yes"}`, "--json");
    expect([misfit.code, misfit.json()]).toMatchObject([
      2,
      { error: { code: "WORKFLOW.INPUT_INVALID", facts: { problems: [{ path: "approved" }, { path: "way" }] } } },
    ]);

    const hints = await bench.hearHints();
    const [, command = ""] = /^answer with +`(.+)`$/m.exec(human.stdout) ?? [];
    const answered = await cliInShell(`${command} --by ann`, { DATABASE_URL: bench.url });
    expect([answered.code, answered.stdout]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^Answered ${question.id} as ann; .* run ${run.id}\\.\nfollow it with`)),
    ]);
    await hints.waitFor(1);
    expect(await bench.work(run.id)).toMatchObject({
      status: "success",
      inputs: [{ answeredBy: "ann", value: { approved: true, way: "Ann's van" } }],
    });

    const second = await bench.call("continue", question.id, "--value", `{"approved": false, "way": "mail"}`);
    expect([second.code, second.stderr]).toEqual([4, expect.stringMatching(/error WORKFLOW\.INPUT_ANSWERED: .* ann was first/)]);
    const after = await bench.call("show", run.id);
    expect(after.stdout).toMatch(/^answer +\{"way":"Ann's van","approved":true\} by ann, /m);
    expect(after.stdout).toMatch(/^confirm +0 +0 +done +next +1 +0 +- +-$/m);
    expect(after.stdout).not.toContain("answer with");
  });

  test("an answer after its time is refused with 4, one to no question of the tenant's with 3", async () => {
    const run = await bench.start(approval, { order: 10 });
    const inputId = run.inputs[0]?.id ?? "";
    const value = ["--value", `{"approved": true, "way": "mail"}`, "--json"];
    await bench.database.pool.query(`UPDATE "WorkflowInput" SET "expiresAt" = clock_timestamp() WHERE "id" = $1::uuid`, [inputId]);
    const [late, foreign, unknown] = await Promise.all([
      bench.call("continue", inputId, ...value),
      bench.callAs("globex", "continue", inputId, ...value),
      bench.call("continue", "nope", ...value),
    ]);
    expect([late.code, late.json()]).toMatchObject([4, { error: { code: "WORKFLOW.INPUT_EXPIRED" } }]);
    expect([foreign.code, foreign.json()]).toMatchObject([3, { error: { code: "WORKFLOW.NOT_FOUND" } }]);
    expect([unknown.code, unknown.json()]).toMatchObject([3, { error: { code: "WORKFLOW.NOT_FOUND" } }]);
    expect((await bench.view(run.id)).inputs).toMatchObject([{ status: "open" }]);
  });

  test("show says when a step is tried again, and what it got", async () => {
    const run = await bench.start(await bench.add(chain("Call", [CALL])));
    const { stdout } = await bench.call("show", run.id);
    expect(stdout).toMatch(/^call +0 +0 +retry +- +1 +0 +\d{4}-\S+Z +WORKFLOW\.STEP_FAILED: .*503/m);
    expect(stdout).toMatch(/^next: it tries again at \d{4}-/m);
  });
});
