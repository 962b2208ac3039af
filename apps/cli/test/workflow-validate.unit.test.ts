import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Io } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";
import { APPROVAL, CALL, chain, MAIL } from "./workflow-bench.ts";

/** Runs the command in this process; there is no database. */
async function validate(definition: unknown, ...options: string[]) {
  const [out, err, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
  input.end(typeof definition === "string" ? definition : JSON.stringify(definition));
  const io = { out, err, in: input, canAsk: false } as unknown as Io;
  const code = await runCli(["workflow", "validate", "-", ...options], io);
  return { code, out: String(out.read() ?? ""), err: String(err.read() ?? "") };
}

describe("workflow validate", () => {
  test("says of a sound definition what it is, and what the native executor does not run across or cannot run", async () => {
    const credentialId = "0190a0a0-0000-4000-8000-000000000001";
    const call = { ...CALL, config: { method: "POST" as const, url: "https://peer.example/", credentialId } };
    const sound = await validate({
      ...APPROVAL,
      ...chain("Approval", [...APPROVAL.nodes, call]),
      trigger: { type: "event", eventType: "billing." },
    });
    expect(sound.code).toBe(0);
    expect(sound.out.split("\n")).toEqual([
      `Valid: "Approval", trigger event billing., 3 nodes, 3 edges.`,
      expect.stringMatching(/^note: approve \(waitForInput\): .* rests there/),
      expect.stringMatching(
        /^note: call \(httpRequest\): .* stored credential: such runs are rejected\. WORKFLOW_EXECUTOR=hybrid or http can$/,
      ),
      "",
    ]);
    const json = await validate(APPROVAL, "--json");
    expect([json.code, JSON.parse(json.out)]).toEqual([
      0,
      {
        valid: true,
        name: "Approval",
        triggerType: "manual",
        triggerKey: null,
        nodes: 2,
        edges: 2,
        nativeGaps: [{ nodeId: "approve", block: "waitForInput", reason: "wait-boundary" }],
      },
    ]);
  });

  test("ends with 2 and says each problem of shape and graph, with its path", async () => {
    const wrong = { ...chain("", [{ ...MAIL, block: "mail" } as never]), start: "nowhere" };
    const human = await validate(wrong);
    expect([human.code, human.out]).toEqual([2, ""]);
    for (const path of ["name", "nodes.0.block", "start"]) expect(human.err).toMatch(new RegExp(`^  - ${path}: `, "m"));
    expect(human.err).toContain("next: Correct the workflow's definition at each named path.");
    const json = await validate(wrong, "--json");
    const { error } = JSON.parse(json.out) as { error: { code: string; facts: { problems: Array<{ path: string }> } } };
    expect([json.code, error.code]).toEqual([2, "WORKFLOW.DEFINITION"]);
    expect(error.facts.problems.map(({ path }) => path)).toEqual(expect.arrayContaining(["name", "nodes.0.block", "start"]));
  });

  test("reads conditions and templates, each", async () => {
    const nodes = [
      { ...MAIL, config: { to: "{{ a", subject: "Order", text: "{% nothing %}" } },
      { id: "decide", block: "if" as const, config: { condition: "1 +" } },
    ];
    const edges = [
      { from: "confirm", to: "decide" },
      { from: "decide", branch: "then", to: null },
      { from: "decide", branch: "else", to: null },
    ];
    const { code, err } = await validate({ ...chain("Texts", nodes), edges });
    expect(code).toBe(2);
    for (const path of ["nodes.0.config.to", "nodes.0.config.text", "nodes.1.config.condition"]) expect(err).toContain(`  - ${path}: `);
  });

  test("reads a file; what is no JSON or cannot be read ends with 2", async () => {
    const folder = await mkdtemp(join(tmpdir(), "workflow-validate-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = join(folder, "approval.json");
    await writeFile(file, JSON.stringify(APPROVAL));
    const run = async (path: string): Promise<{ code: number; err: string }> => {
      const [out, err] = [new PassThrough(), new PassThrough()];
      const code = await runCli(["workflow", "validate", path], { out, err, in: process.stdin, canAsk: false } as unknown as Io);
      return { code, err: String(err.read() ?? "") };
    };
    expect(await run(file)).toEqual({ code: 0, err: "" });
    expect(await run(`${file}.none`)).toEqual({
      code: 2,
      err: expect.stringMatching(/error CLI\.ARGUMENT: expected a file that can be read, got ENOENT/),
    });
    expect(await validate("{")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/error WORKFLOW\.DEFINITION: .*\n  - workflow: expected JSON, got: /),
    });
  });
});
