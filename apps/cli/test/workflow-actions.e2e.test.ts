import { randomUUID } from "node:crypto";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Io } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";
import { APPROVAL, ASK, CALL, chain, MAIL, openWorkflowBench, TENANT, UPDATE, type WorkflowBench } from "./workflow-bench.ts";

let bench: WorkflowBench;

beforeAll(async () => {
  bench = await openWorkflowBench(503);
});

afterAll(() => bench.close());

beforeEach(() => bench.database.pool.query(`TRUNCATE "OutboxAction"`));

test("cancel ends a run with an audit row, warns of a call on its way, and a second one is refused with 4 and recorded", async () => {
  const run = await bench.start(await bench.add(chain("Cancel", [CALL, ASK])));
  await bench.database.pool.query(
    `UPDATE "WorkflowStep" SET "status" = 'calling', "token" = gen_random_uuid(), "callingSince" = clock_timestamp() WHERE "executionId" = $1::uuid`,
    [run.id],
  );
  const hints = await bench.hearHints();
  const first = await bench.spawn("cancel", run.id, "--actor", "ann", "--reason", "ordered twice", "--json");
  expect([first.code, first.json()]).toEqual([
    0,
    {
      action: "workflow.cancel",
      actionId: expect.any(String),
      tenantId: TENANT,
      executionId: run.id,
      from: "waiting",
      status: "cancelled",
    },
  ]);
  expect(first.stderr).toContain("warning: call: a call is on its way, and is not taken back");
  expect(await bench.view(run.id)).toMatchObject({ status: "cancelled" });
  await hints.waitFor(1);
  const [second, unknown] = await Promise.all([bench.call("cancel", run.id, "--actor", "bob"), bench.call("cancel", randomUUID())]);
  expect([second.code, second.stdout, second.stderr]).toEqual([4, "", expect.stringMatching(/error WORKFLOW\.STATE: .* cancelled/)]);
  expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining("WORKFLOW.NOT_FOUND")]);
  const key = { tenantId: TENANT, executionId: run.id };
  expect(await bench.audit()).toEqual([
    {
      actor: "ann",
      action: "workflow.cancel",
      reason: "ordered twice",
      affected: 1,
      params: { ...key, before: { status: "waiting", reasonCode: null, reason: null } },
    },
    {
      actor: "bob",
      action: "workflow.cancel",
      reason: null,
      affected: 0,
      params: {
        ...key,
        before: expect.objectContaining({ status: "cancelled" }),
        refused: expect.stringContaining("expected a run that has not ended"),
      },
    },
  ]);
});

test("retry says what is repeated and what happens again, repeats it with an audit row, and refuses a run that has not ended", async () => {
  const run = await bench.start(await bench.add(chain("Retry", [{ ...MAIL, id: "first" }, MAIL, UPDATE])));
  expect(run).toMatchObject({ status: "error", reasonCode: "ROW.NOT_FOUND" });
  const show = await bench.call("show", run.id);
  expect(show.stdout).toContain(
    `next: mend the cause, then \`toolctrl-cli workflow retry ${run.id} --tenant 'Ann'\\''s & sons' --from update\``,
  );
  const hints = await bench.hearHints();
  const [nowhere, human] = await Promise.all([
    bench.call("retry", run.id, "--from", "nowhere"),
    bench.spawn("retry", run.id, "--from", "confirm", "--reason", "mended"),
  ]);
  expect([nowhere.code, nowhere.stderr]).toEqual([
    2,
    expect.stringMatching(/error WORKFLOW\.ARGUMENT: .*\(first, confirm, update\), got nowhere/),
  ]);
  expect([human.code, human.stdout]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^Run ${run.id} repeats 2 steps from confirm on, in epoch 1\\.\nfollow it with`)),
  ]);
  expect(human.stderr).toMatch(/^2 steps to repeat:\nNODE +BLOCK +TURN +WAS\nconfirm +email +0 +done\nupdate +rowUpdate +0 +failed$/m);
  // The update was rolled back, the mail was not.
  expect(human.stderr.split("\n").filter((line) => line.startsWith("warning"))).toEqual([
    "warning: confirm (email): the mail is sent again",
  ]);
  await hints.waitFor(1);
  expect(await bench.view(run.id)).toMatchObject({ status: "running", retryEpoch: 1, reasonCode: null });
  const running = await bench.call("retry", run.id, "--from", "confirm", "--json");
  expect([running.code, running.json()]).toMatchObject([4, { error: { code: "WORKFLOW.STATE" } }]);

  expect(await bench.work(run.id)).toMatchObject({ status: "error" });
  const json = await bench.call("retry", run.id, "--from", "confirm", "--json");
  expect(json.json()).toMatchObject({
    action: "workflow.retry",
    from: "confirm",
    was: "error",
    retryEpoch: 2,
    repeated: [
      { nodeId: "confirm", status: "done", again: "the mail is sent again" },
      { nodeId: "update", status: "failed", again: null },
    ],
  });
  expect((await bench.call("show", run.id)).stdout).toMatch(
    /^confirm +0 +0 +done, replaced +next +1[^]*^confirm +0 +1 +done, replaced +next +1[^]*^confirm +0 +2 +ready/m,
  );
  expect(await bench.audit()).toMatchObject([
    {
      action: "workflow.retry",
      reason: "mended",
      affected: 1,
      params: {
        executionId: run.id,
        from: "confirm",
        retryEpoch: 1,
        before: { status: "error", reasonCode: "ROW.NOT_FOUND" },
        repeated: [
          { nodeId: "confirm", status: "done" },
          { nodeId: "update", status: "failed", errorCode: "ROW.NOT_FOUND" },
        ],
      },
    },
    { affected: 0, params: { refused: expect.stringContaining("expected a run that has ended") } },
    { affected: 1, params: { retryEpoch: 2 } },
  ]);
});

test("neither does anything without its audit row", async () => {
  const waiting = await bench.start(await bench.add(APPROVAL), { order: 12 });
  const failed = await bench.start(await bench.add(chain("Unrecorded", [UPDATE])));
  await bench.database.pool.query(`ALTER TABLE "OutboxAction" ADD CONSTRAINT "broken" CHECK (false) NOT VALID`);
  try {
    const [cancel, retry] = [await bench.call("cancel", waiting.id), await bench.call("retry", failed.id, "--from", "update")];
    expect([cancel.code, cancel.stderr, retry.code]).toEqual([1, expect.stringContaining("broken"), 1]);
  } finally {
    await bench.database.pool.query(`ALTER TABLE "OutboxAction" DROP CONSTRAINT "broken"`);
  }
  expect([(await bench.view(waiting.id)).status, (await bench.view(failed.id)).status]).toEqual(["waiting", "error"]);
});

test("each asks where somebody can be asked; a no ends with 4 and changes nothing", async () => {
  const waiting = await bench.start(await bench.add(APPROVAL), { order: 11 });
  const failed = await bench.start(await bench.add(chain("Asked", [MAIL, UPDATE])));
  const decline = async (...args: string[]) => {
    const [out, input] = [new PassThrough(), new PassThrough()];
    const err = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
    let asked = "";
    err.on("data", (chunk: Buffer) => {
      const before = asked;
      asked += chunk.toString();
      if (asked.includes("?") && !before.includes("?")) setImmediate(() => input.write("n"));
    });
    const code = await runCli(["workflow", ...args, "--tenant", TENANT], { out, err, in: input, canAsk: true } as unknown as Io);
    return { code, asked };
  };
  expect(await decline("cancel", waiting.id)).toEqual({
    code: 4,
    asked: expect.stringContaining(`Cancel run ${waiting.id}, which is waiting?`),
  });
  expect(await decline("retry", failed.id, "--from", "confirm")).toEqual({
    code: 4,
    asked: expect.stringContaining(`Repeat 2 steps of run ${failed.id}?`),
  });
  expect([(await bench.view(waiting.id)).status, (await bench.view(failed.id)).status, await bench.audit()]).toEqual([
    "waiting",
    "error",
    [],
  ]);
});
