import { gzipSync } from "node:zlib";
import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonObject } from "@toolctrl/foundation/json";
import type { WorkflowDefinitionInput } from "@toolctrl/foundation/workflows";
import { startHttpPeer, type HttpPeer, type ReceivedRequest, type Responder } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { uuidv7 } from "uuidv7";
import { describe, expect, test } from "vitest";
import { createExecutionsService, type ExecutionKey } from "../src/executions.ts";
import {
  BRIDGE_PATH,
  bridgeRequestSchema,
  createExecutor,
  verifyBridgeRequest,
  type BridgeRequest,
  type Executor,
  type ExecutorKind,
} from "../src/executors.ts";
import { BRIDGE_HEADERS, BRIDGE_WINDOW_MS, signBridgeRequest } from "../src/executors/bridge-signature.ts";
import { runExecution, type CredentialSource } from "../src/runner.ts";
import { ask, manual, note, notesOf, openBench, TENANT, type Bench } from "./support.ts";

const SECRET = "a secret of more than thirty-two characters";
const CREDENTIAL = "0190a0a0-0000-4000-8000-000000000001";
const NEVER = new AbortController().signal;
/** What the bridge answers of a run that rests. */
const WAITING = `{"kind":"waiting"}`;

interface Bridged extends Bench {
  /** The web app's side of the bridge. */
  readonly bridge: HttpPeer;
  executor(kind: ExecutorKind, deadlineMs?: number): Executor;
  /** Starts a run as an installation with that executor does. */
  startFor(kind: ExecutorKind, definition: WorkflowDefinitionInput): Promise<ExecutionKey>;
}

async function openBridged(respond: Responder = () => ({ body: WAITING })): Promise<Bridged> {
  const [bench, bridge] = await Promise.all([openBench(), startHttpPeer()]);
  bridge.respond(respond);
  return {
    ...bench,
    bridge,
    executor(kind, deadlineMs = 5000) {
      const settings = kind === "native" ? { kind } : { kind, bridge: { url: bridge.url, secret: SECRET, deadlineMs } };
      return createExecutor(settings, bench.deps);
    },
    async startFor(kind, definition) {
      const service = createExecutionsService({ pool: bench.deps.pool, executor: kind, runner: null });
      const { execution } = await service.run({ tenantId: TENANT, workflowId: await bench.add(definition), startedBy: "person" });
      return { tenantId: TENANT, executionId: execution.id };
    },
  };
}

/** A step that calls the bench's peer, with a stored credential if one is named. */
function call(id: string, { http }: Bench, credentialId?: string): WorkflowDefinitionInput["nodes"][number] {
  const config = { method: "POST" as const, url: `${http.url}/${id}`, ...(credentialId === undefined ? {} : { credentialId }) };
  return { id, block: "httpRequest", config };
}

/** A source that tells of each credential that is opened. */
function credentials(opened: string[] = []): CredentialSource {
  return {
    async open(_tx, { credentialId }) {
      opened.push(credentialId);
      return { name: "X-Api-Key", value: "hunter2" };
    },
  };
}

describe("the native executor", () => {
  test("runs everything in this process", async () => {
    const bench = await openBridged();
    const key = await bench.startFor("native", manual([note("a"), call("b", bench)]));
    expect(await bench.executor("native").execute(key, NEVER)).toEqual({ kind: "ended", status: "success" });
    expect(await notesOf(bench)).toEqual({ a: 1 });
    expect(bench.http.requests).toHaveLength(1);
    expect(bench.bridge.requests).toEqual([]);
  });

  test("has no access to credentials, even when it is handed some: the step that needs one ends its run, and none is opened", async () => {
    const bench = await openBridged();
    const opened: string[] = [];
    const deps = { ...bench.deps, credentials: credentials(opened) };
    const key = await bench.startFor("hybrid", manual([note("before"), call("secret", bench, CREDENTIAL), note("after")]));
    expect(await createExecutor({ kind: "native" }, deps).execute(key, NEVER)).toEqual({ kind: "ended", status: "error" });
    expect(await bench.view(key)).toMatchObject({ status: "error", reasonCode: "WORKFLOW.UNSUPPORTED_BLOCK" });
    expect(await notesOf(bench)).toEqual({ before: 1 });
    expect(opened).toEqual([]);
    expect(bench.http.requests).toEqual([]);
    // The source is one that works, where runs have access to it.
    const other = await bench.startFor("hybrid", manual([call("secret", bench, CREDENTIAL)]));
    expect(await runExecution(deps, other, NEVER)).toEqual({ kind: "ended", status: "success" });
    expect(bench.http.requests.map(({ headers }) => headers["x-api-key"])).toEqual(["hunter2"]);
  });
});

describe("the hybrid executor", () => {
  test("runs here what needs no credential, and asks the bridge for the rest", async () => {
    const bench = await openBridged(() => ({ body: `{"kind":"ended","status":"success"}` }));
    const hybrid = bench.executor("hybrid");
    const here = await bench.startFor("hybrid", manual([note("here"), call("plain", bench)]));
    expect(await hybrid.execute(here, NEVER)).toEqual({ kind: "ended", status: "success" });
    expect(bench.bridge.requests).toEqual([]);
    const there = await bench.startFor("hybrid", manual([note("there"), call("secret", bench, CREDENTIAL)]));
    expect(await hybrid.execute(there, NEVER)).toEqual({ kind: "ended", status: "success" });
    expect(bench.bridge.requests.map(({ text }) => JSON.parse(text) as unknown)).toEqual([{ type: "trigger", ...there }]);
    // Nothing of it ran here.
    expect(await notesOf(bench)).toEqual({ here: 1 });
    expect(await bench.view(there)).toMatchObject({ status: "queued", steps: [] });
  });

  test("sends nothing to the bridge for a run that only waits for a person, and goes on with it natively", async () => {
    const bench = await openBridged();
    const hybrid = bench.executor("hybrid");
    const key = await bench.startFor("hybrid", manual([ask("ask"), note("after")]));
    expect(await hybrid.execute(key, NEVER)).toEqual({ kind: "waiting" });
    const inputId = (await bench.view(key)).inputs[0]?.id ?? "";
    await bench.service.continue({ tenantId: TENANT, inputId, value: { answer: "yes" }, answeredBy: "ann" });
    expect(await bench.events("workflow.execution.continue.requested")).toHaveLength(1);
    expect(await hybrid.execute(key, NEVER)).toEqual({ kind: "ended", status: "success" });
    expect(await notesOf(bench)).toEqual({ after: 1 });
    expect(bench.bridge.requests).toEqual([]);
  });

  test("asks the bridge to go on, too, when a later step needs a credential", async () => {
    const bench = await openBridged();
    const key = await bench.startFor("hybrid", manual([ask("ask"), call("secret", bench, CREDENTIAL)]));
    for (let turn = 1; turn <= 2; turn += 1) {
      expect(await bench.executor("hybrid").execute(key, NEVER)).toEqual({ kind: "waiting" });
      expect(bench.bridge.requests).toHaveLength(turn);
    }
  });

  test("knows no run of another tenant", async () => {
    const bench = await openBridged();
    const key = await bench.startFor("hybrid", manual([note("a")]));
    await expect(bench.executor("hybrid").execute({ ...key, tenantId: "other" }, NEVER)).rejects.toMatchObject({
      code: "WORKFLOW.NOT_FOUND",
    });
    expect(bench.bridge.requests).toEqual([]);
  });
});

describe("the http executor", () => {
  test("asks the bridge for everything, and runs nothing here", async () => {
    const bench = await openBridged();
    const key = await bench.startFor("http", manual([note("a")]));
    expect(await bench.executor("http").execute(key, NEVER)).toEqual({ kind: "waiting" });
    expect(bench.bridge.requests).toMatchObject([{ method: "POST", path: BRIDGE_PATH }]);
    expect(await notesOf(bench)).toEqual({});
    expect(await bench.view(key)).toMatchObject({ status: "queued", steps: [] });
  });

  test.each<[string, JsonObject]>([
    ["that the run succeeded", { kind: "ended", status: "success" }],
    ["that it failed", { kind: "ended", status: "error" }],
    ["that it was cancelled", { kind: "ended", status: "cancelled" }],
    ["that it waits", { kind: "waiting" }],
    ["that another process calls somebody for it", { kind: "busy", waitMs: 1200 }],
    ["that the web app is to end", { kind: "interrupted" }],
  ])("takes the answer %s as it is", async (_, answer) => {
    const bridge = await startHttpPeer();
    bridge.respond(() => ({ body: JSON.stringify(answer) }));
    expect(await requestOnce(bridge)).toEqual(answer);
  });

  test.each<[string, ReturnType<Responder>]>([
    ["refuses", { status: 401, body: WAITING }],
    ["has too much to do", { status: 503, body: WAITING }],
    ["answers 202, with an answer that would be good", { status: 202, body: WAITING }],
    ["answers no JSON", { body: "<html>" }],
    ["answers another kind", { body: `{"kind":"done"}` }],
    ["answers a status that runs do not have", { body: `{"kind":"ended","status":"great"}` }],
    ["answers more than was asked", { body: `{"kind":"waiting","secret":"x"}` }],
    ["answers compressed", { headers: { "content-encoding": "gzip" }, body: gzipSync(WAITING) }],
    ["answers at a length that no answer has", { body: WAITING + " ".repeat(4096) }],
    ["ends the connection", "drop"],
  ])("fails in a way that is tried again when the web app %s", async (_, reply) => {
    const bridge = await startHttpPeer();
    bridge.respond(() => reply);
    await expect(requestOnce(bridge)).rejects.toMatchObject({ code: "WORKFLOW.BRIDGE", retry: true });
    expect(bridge.requests).not.toEqual([]);
  });

  test("fails in a way that is tried again when the web app does not answer within the deadline", async () => {
    const bridge = await startHttpPeer();
    bridge.respond(() => "hang");
    const startedAt = performance.now();
    await expect(requestOnce(bridge, 300)).rejects.toMatchObject({ code: "WORKFLOW.BRIDGE", retry: true });
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(290);
  });

  test("does not read an answer without end, and gives up its connection", async () => {
    const bridge = await startHttpPeer();
    bridge.respond((_request, _index, response) => {
      const write = (): boolean => response.write(Buffer.alloc(65_536, " "), (error) => void (error ?? write()));
      write();
      return "handled";
    });
    await expect(requestOnce(bridge)).rejects.toMatchObject({ code: "WORKFLOW.BRIDGE", message: expect.stringContaining("4096 bytes") });
    await waitFor(() => bridge.connections() === 0);
  });

  test("follows nobody elsewhere: the request is for one address", async () => {
    const bridge = await startHttpPeer();
    bridge.respond(({ path }) => (path === BRIDGE_PATH ? { status: 307, headers: { location: "/elsewhere" } } : { body: WAITING }));
    await expect(requestOnce(bridge)).rejects.toMatchObject({ code: "WORKFLOW.BRIDGE", retry: true });
    expect(bridge.requests.map(({ path }) => path)).toEqual([BRIDGE_PATH]);
  });

  test("fails in a way that is tried again when nobody listens", async () => {
    const bridge = await startHttpPeer();
    await bridge.close();
    await expect(requestOnce(bridge)).rejects.toMatchObject({ code: "WORKFLOW.BRIDGE", retry: true });
  });

  /** One request, without a database: which run it is does not matter to it. */
  function requestOnce({ url }: HttpPeer, deadlineMs = 10_000): Promise<unknown> {
    const deps = { pool: null as never, http: null as never, log: null as never };
    const executor = createExecutor({ kind: "http", bridge: { url, secret: SECRET, deadlineMs } }, deps);
    return executor.execute({ tenantId: TENANT, executionId: uuidv7() }, NEVER);
  }
});

describe("a request of the bridge", () => {
  test("is accepted once by who shares the secret, who then runs what was asked for, with the credential", async () => {
    const bench: Bridged = await openBridged(async (request) => {
      await verifyBridgeRequest(bench.deps.pool, requestOf(request), SECRET);
      const { tenantId, executionId } = bridgeRequestSchema.parse(JSON.parse(request.text));
      const deps = { ...bench.deps, credentials: credentials() };
      return { body: JSON.stringify(await runExecution(deps, { tenantId, executionId }, NEVER)) };
    });
    const key = await bench.startFor("hybrid", manual([note("a"), call("secret", bench, CREDENTIAL)]));
    expect(await bench.executor("hybrid").execute(key, NEVER)).toEqual({ kind: "ended", status: "success" });
    expect(bench.http.requests.map(({ headers }) => headers["x-api-key"])).toEqual(["hunter2"]);
    expect(await notesOf(bench)).toEqual({ a: 1 });
    const [request] = bench.bridge.requests.map(requestOf);
    await expect(verifyBridgeRequest(bench.deps.pool, request ?? signed(), SECRET)).rejects.toThrow("a nonce that never came before");
  });

  test("that comes twice at once is accepted once", async () => {
    const { deps } = await openBridged();
    const request = signed();
    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => verifyBridgeRequest(deps.pool, request, SECRET)));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("is refused when anything of it was changed on its way, and as it was sent is still good then", async () => {
    const bench = await openBridged();
    await bench.executor("http").execute({ tenantId: TENANT, executionId: uuidv7() }, NEVER);
    const [sent] = bench.bridge.requests.map(requestOf);
    if (sent === undefined) throw new Error("expected a request, got none");
    const changed: BridgeRequest[] = [
      { ...sent, body: sent.body.replace(TENANT, "other") },
      { ...sent, body: `${sent.body} ` },
      { ...sent, path: `${sent.path}/more` },
      { ...sent, path: `${sent.path}?more` },
      { ...sent, method: "PUT" },
      withHeader(sent, "timestamp", String(Number(sent.headers[BRIDGE_HEADERS.timestamp]) + 1)),
      withHeader(sent, "nonce", uuidv7()),
      withHeader(sent, "signature", "A".repeat(44)),
      withHeader(sent, "signature", "short"),
    ];
    for (const request of changed) await expectRefused(bench, request, "a signature that fits");
    await expect(verifyBridgeRequest(bench.deps.pool, sent, "another secret, of more than thirty-two characters")).rejects.toThrow(
      "a signature that fits",
    );
    await expect(verifyBridgeRequest(bench.deps.pool, sent, SECRET)).resolves.toBeUndefined();
  });

  test("is refused without one of its headers, with an empty one, or with one twice", async () => {
    const bench = await openBridged();
    for (const name of ["timestamp", "nonce", "signature"] as const) {
      for (const value of [undefined, "", ["a", "b"]]) await expectRefused(bench, withHeader(signed(), name, value), BRIDGE_HEADERS[name]);
    }
    await expect(verifyBridgeRequest(bench.deps.pool, signed(), SECRET)).resolves.toBeUndefined();
  });

  test("is refused when it is older than five minutes or so far ahead, and accepted in between", async () => {
    const bench = await openBridged();
    const away = (ms: number): BridgeRequest => signed({ timestamp: String(Date.now() + ms) });
    for (const ms of [-1, 1]) {
      await expectRefused(bench, away(ms * (BRIDGE_WINDOW_MS + 2000)), "of the last 300 s");
      await expect(verifyBridgeRequest(bench.deps.pool, away(ms * (BRIDGE_WINDOW_MS - 5000)), SECRET)).resolves.toBeUndefined();
    }
    await expectRefused(bench, signed({ timestamp: "now" }), "of the last 300 s");
  });

  test("is refused with a nonce of 250 characters, which no one would have to keep", async () => {
    const bench = await openBridged();
    await expectRefused(bench, signed({ nonce: "n".repeat(250) }), BRIDGE_HEADERS.nonce);
    expect(await bench.count(`FROM "BridgeNonce"`)).toBe(0);
  });

  test("leaves no nonce behind that can decide nothing any more", async () => {
    const { deps, count, database } = await openBridged();
    for (let round = 0; round < 3; round += 1) await verifyBridgeRequest(deps.pool, signed(), SECRET);
    await database.pool.query(`UPDATE "BridgeNonce" SET "expiresAt" = clock_timestamp() - interval '1 second'`);
    await verifyBridgeRequest(deps.pool, signed(), SECRET);
    expect(await count(`FROM "BridgeNonce"`)).toBe(1);
  });

  /** Refused, and told so without what would have been right. */
  async function expectRefused({ deps }: Bench, request: BridgeRequest, expected: string): Promise<void> {
    const error: unknown = await verifyBridgeRequest(deps.pool, request, SECRET).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CodedError);
    expect(error).toMatchObject({ code: "WORKFLOW.BRIDGE", message: expect.stringContaining(expected) });
    expect(JSON.stringify(error)).not.toContain(SECRET);
  }
});

function requestOf({ method, path, headers, text }: ReceivedRequest): BridgeRequest {
  return { method, path, headers, body: text };
}

/** A request signed as the executor does, with other parts. */
function signed(parts: { timestamp?: string; nonce?: string } = {}): BridgeRequest {
  const { timestamp = String(Date.now()), nonce = uuidv7() } = parts;
  const request = { method: "POST", path: BRIDGE_PATH, body: `{"type":"trigger"}` };
  const signature = signBridgeRequest({ ...request, timestamp, nonce }, SECRET);
  const headers = { [BRIDGE_HEADERS.timestamp]: timestamp, [BRIDGE_HEADERS.nonce]: nonce, [BRIDGE_HEADERS.signature]: signature };
  return { ...request, headers };
}

function withHeader(request: BridgeRequest, name: keyof typeof BRIDGE_HEADERS, value: string | string[] | undefined): BridgeRequest {
  return { ...request, headers: { ...request.headers, [BRIDGE_HEADERS[name]]: value } };
}
