import { waitFor } from "@toolctrl/testkit/wait";
import { expect, test } from "vitest";
import { createTestDatabase } from "@toolctrl/testkit/template-db";
import { startTcpProxy } from "@toolctrl/testkit/tcp-proxy";
import { ask, call, manual, note } from "./definitions.ts";
import { openStream } from "./read-events.ts";
import { CREDENTIALS_KEY, openWeb, type Web } from "./support.ts";

/** A peer whose first answer waits until it is told. */
function holdPeer(web: Web): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  web.peer.respond(async () => {
    await promise;
    return { status: 200 };
  });
  return resolve;
}

test("a stream begins with a comment, tells of the run after each step, and ends with how it was left", async () => {
  const web = await openWeb();
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([note("a"), note("b")])));
  expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
  const events = await stream.rest();
  expect(stream.comments[0]).toMatch(/^:/);
  expect(events.at(-1)).toMatchObject({ event: "end", data: { run: { status: "success", reasonCode: null } } });
  const views = events.slice(0, -1);
  expect(views.every(({ event }) => event === "run")).toBe(true);
  const done = views.map(
    ({ data }) => (data.run["steps"] as unknown as Array<{ status: string }>).filter(({ status }) => status === "done").length,
  );
  expect([...new Set(done)]).toEqual([0, 1, 2]);
  expect(views[0]?.data.run).toMatchObject({ status: "queued", startedBy: "stream" });
  expect(await web.published()).not.toContain("workflow.execution.requested");
});

test("a stream may use a stored credential: it runs where the key is", async () => {
  const web = await openWeb({ WORKFLOW_CREDENTIALS_KEY: CREDENTIALS_KEY });
  const stored = await web.call("POST", "/api/credentials", { name: "n", header: "x-key", secret: "s3cret" });
  const { id } = (stored.body as unknown as { credential: { id: string } }).credential;
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([call("pay", web.peer.url, id)])));
  expect((await stream.rest()).at(-1)).toMatchObject({ data: { run: { status: "success" } } });
  expect(web.peer.requests).toMatchObject([{ headers: { "x-key": "s3cret" } }]);
});

test("a stream that comes to a question ends there, and a worker goes on with the answer", async () => {
  const web = await openWeb();
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([ask("ask"), note("after")])));
  const end = (await stream.rest()).at(-1);
  expect(end).toMatchObject({ event: "end", data: { run: { status: "waiting" } } });
  const { body } = await web.call("GET", "/api/inputs");
  await web.call("POST", `/api/inputs/${(body as unknown as { inputs: Array<{ id: string }> }).inputs[0]?.id}`, {
    value: { answer: "yes" },
  });
  expect((await web.published()).at(-1)).toBe("workflow.execution.continue.requested");
  expect(await web.work(end?.data.run.id ?? "")).toEqual({ kind: "ended", status: "success" });
});

test("what cannot be started is answered in JSON, and no stream begins", async () => {
  const web = await openWeb();
  const workflowId = await web.addWorkflow(manual([note("a")]));
  const path = `/api/workflows/${workflowId}/stream`;
  expect(await web.call("POST", path, { input: 7 })).toMatchObject({ status: 400 });
  expect(await web.call("POST", path, {}, { headers: { "idempotency-key": "once" } })).toMatchObject({
    status: 400,
    body: { error: { code: "API.ARGUMENT" } },
  });
  await web.call("POST", `/api/workflows/${workflowId}/live`, { live: false });
  expect(await web.call("POST", path)).toMatchObject({ status: 409, body: { error: { code: "WORKFLOW.NOT_LIVE" } } });
  expect((await web.call("GET", "/api/runs")).body).toEqual({ runs: [] });
});

test("more streams than the limit are refused, and one that has ended makes room", async () => {
  const web = await openWeb({ WEB_MAX_STREAMS: "1" });
  const release = holdPeer(web);
  const workflowId = await web.addWorkflow(manual([call("slow", web.peer.url)]));
  const first = await openStream(web.url, web.key, workflowId);
  await web.peer.nextRequest();
  expect(await web.metrics.text()).toContain("web_streams 1");
  const refused = await web.call("POST", `/api/workflows/${workflowId}/stream`);
  expect(refused).toMatchObject({ status: 429, body: { error: { code: "API.TOO_MANY_STREAMS", facts: { limit: 1 } } } });
  expect(refused.headers.get("retry-after")).toBe("1");
  release();
  await first.rest();
  expect(await web.metrics.text()).toContain("web_streams 0");
  expect((await (await openStream(web.url, web.key, workflowId)).rest()).at(-1)).toMatchObject({ data: { run: { status: "success" } } });
});

test("a stream that lasts too long ends between two steps, and says so", async () => {
  const web = await openWeb({ WEB_STREAM_MAX_SECONDS: "1" });
  const release = holdPeer(web);
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([call("slow", web.peer.url), note("after")])));
  await web.peer.nextRequest();
  // The limit is in real time, and nothing tells when it is over.
  const over = performance.now() + 1100;
  await waitFor(() => performance.now() > over, { what: "the limit to be over" });
  release();
  const end = (await stream.rest()).at(-1);
  expect(end).toMatchObject({ event: "end", data: { run: { status: "error", reasonCode: "WORKFLOW.STREAM_STOPPED" } } });
  expect((await web.call("GET", `/api/runs/${end?.data.run.id}`)).body).toMatchObject({
    run: {
      status: "error",
      reason: expect.stringContaining("a stream lasts 1 s at most"),
      steps: [
        { nodeId: "slow", status: "done" },
        { nodeId: "after", status: "cancelled" },
      ],
    },
  });
});

test("a reader that goes away ends nothing: the run goes on to its end", async () => {
  const web = await openWeb();
  const release = holdPeer(web);
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([call("slow", web.peer.url), note("after")])));
  const first = await stream.next();
  await web.peer.nextRequest();
  await stream.leave();
  release();
  const id = first?.data.run.id ?? "";
  await waitFor(async () => JSON.stringify((await web.call("GET", `/api/runs/${id}`)).body).includes(`"status":"success"`), {
    what: "the run to end",
  });
  expect((await web.call("GET", `/api/runs/${id}`)).body).toMatchObject({
    run: { status: "success", steps: [{ nodeId: "slow" }, { nodeId: "after" }] },
  });
});

test("a streamed run that is cancelled ends after the step it is at", async () => {
  const web = await openWeb();
  const release = holdPeer(web);
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([call("slow", web.peer.url), note("after")])));
  const first = await stream.next();
  await web.peer.nextRequest();
  await web.call("POST", `/api/runs/${first?.data.run.id}/cancel`);
  release();
  expect((await stream.rest()).at(-1)).toMatchObject({ event: "end", data: { run: { status: "cancelled" } } });
});

test("a reader that reads nothing holds up nothing: the run ends, and what the reader then gets ends with the end", async () => {
  const web = await openWeb();
  const large = (id: string) => ({ id, block: "rowCreate" as const, config: { table: "note", data: { text: "x".repeat(20_000) } } });
  const ids = Array.from({ length: 40 }, (_, index) => `step${index}`);
  const workflowId = await web.addWorkflow(manual(ids.map(large)));
  const stream = await openStream(web.url, web.key, workflowId);
  const ended = async (): Promise<boolean> => {
    const { rowCount } = await web.database.pool.query(`SELECT 1 FROM "WorkflowExecution" WHERE "status" = 'success'`);
    return rowCount === 1;
  };
  await waitFor(ended, { what: "the run to end", timeoutMs: 30_000 });
  const events = await stream.rest();
  expect(events.at(-1)).toMatchObject({ event: "end", data: { run: { status: "success" } } });
  // Each step grows the view: all of them were 16 MB.
  expect(events.length).toBeLessThan(ids.length);
});

test("a database that goes away during a stream ends it with the reason; the run is left to its lease", async () => {
  const { url } = await createTestDatabase();
  const target = new URL(url);
  const proxy = await startTcpProxy({ toPort: Number(target.port) });
  target.hostname = "127.0.0.1";
  target.port = String(proxy.port);
  const web = await openWeb({}, target.href);
  const release = holdPeer(web);
  const stream = await openStream(web.url, web.key, await web.addWorkflow(manual([call("slow", web.peer.url), note("after")])));
  await web.peer.nextRequest();
  await proxy.refuse();
  release();
  expect((await stream.rest()).at(-1)).toMatchObject({
    event: "end",
    data: { run: { status: "running" }, error: { code: "API.UNAVAILABLE" } },
  });
  await proxy.resume();
  const { rows } = await web.database.pool.query(
    `SELECT 1 FROM "WorkflowExecution" WHERE "status" = 'running' AND "streamUntil" IS NOT NULL`,
  );
  expect(rows).toHaveLength(1);
});
