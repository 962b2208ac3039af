import { inspect } from "node:util";
import { createGuardedHttp } from "@toolctrl/runtime/guarded-http";
import { startEmbeddingsPeer, type EmbeddingsPeer } from "@toolctrl/testkit/embeddings-peer";
import { describe, expect, onTestFinished, test } from "vitest";
import { createHttpEmbeddings, createNoEmbeddings, type Embeddings, type HttpEmbeddingsOptions } from "../src/rag.ts";
import { describeEmbeddings } from "./embeddings-conformance.ts";
import { rejection } from "./support.ts";

const KEY = "sk-very-secret";

async function open(
  options: Partial<HttpEmbeddingsOptions> = {},
): Promise<{ readonly peer: EmbeddingsPeer; readonly embeddings: Embeddings }> {
  const peer = await startEmbeddingsPeer();
  const http = createGuardedHttp({ allow: [`127.0.0.1:${peer.port}`] });
  onTestFinished(async () => {
    await http.close();
    await peer.close();
  });
  const settings = { http, url: peer.url, model: "test-model", apiKey: KEY, batchSize: 2, deadlineMs: 20_000, ...options };
  return { peer, embeddings: createHttpEmbeddings(settings) };
}

/** An answer with these entries for `data`. */
const answering = (data: unknown) => () => ({ body: JSON.stringify({ object: "list", data }) });
const entry = (index: unknown, embedding: unknown) => ({ object: "embedding", index, embedding });

describe("embeddings of an endpoint", () => {
  describeEmbeddings(async () => (await open()).embeddings);

  test("are asked for as OpenAI's API has it, in batches, with the key as a bearer token", async () => {
    const { peer, embeddings } = await open();
    const answers = await embeddings.embed(["a @0", "b @90", "c @180"]);
    expect(answers.map((vector) => vector?.map((number) => Math.round(number * 1e6) / 1e6))).toEqual([
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [-1, 0, 0, 0],
    ]);
    const bodies = peer.requests.map(({ text }) => JSON.parse(text) as { input: string[] });
    expect(bodies.toSorted((a, b) => b.input.length - a.input.length)).toEqual([
      { model: "test-model", input: ["a @0", "b @90"], encoding_format: "float" },
      { model: "test-model", input: ["c @180"], encoding_format: "float" },
    ]);
    expect(peer.requests.map(({ method, path, headers }) => [method, path, headers.authorization, headers["content-type"]])).toEqual(
      peer.requests.map(() => ["POST", "/v1/embeddings", `Bearer ${KEY}`, "application/json"]),
    );
  });

  test("are asked for without a token where there is no key, and not at all for no texts", async () => {
    const { peer, embeddings } = await open({ apiKey: undefined });
    await embeddings.embed([]);
    expect(peer.requests).toEqual([]);
    await embeddings.embed(["a"]);
    expect(peer.requests.map(({ headers }) => headers.authorization)).toEqual([undefined]);
  });

  test("belong to the texts that their indexes name, in whatever order they come", async () => {
    const { peer, embeddings } = await open({ batchSize: 3 });
    peer.respond(answering([entry(2, [3]), entry(0, [1]), entry(1, [2])]));
    expect(await embeddings.embed(["a", "b", "c"])).toEqual([[1], [2], [3]]);
  });

  test("are rounded to what the tables hold, where that is possible", async () => {
    const { peer, embeddings } = await open();
    peer.respond(answering([entry(0, [0.1, 1e-300, -3.4e38])]));
    expect(await embeddings.embed(["a"])).toEqual([[Math.fround(0.1), 0, Math.fround(-3.4e38)]]);
  });

  test.each([
    ["a vector too few", [entry(0, [1])], "got 1"],
    ["a vector too many", [entry(0, [1]), entry(1, [1]), entry(2, [1])], "got 3"],
    ["an index twice", [entry(0, [1]), entry(0, [1])], "two with the index 0"],
    ["an index of no text", [entry(0, [1]), entry(7, [1])], "one with the index 7"],
    ["an index that is none", [entry(0, [1]), entry(-1, [1])], "data.1.index"],
    ["no index", [entry(0, [1]), { embedding: [1] }], "data.1.index"],
    ["vectors of two lengths", [entry(0, [1, 2]), entry(1, [1])], "vectors of the lengths 1, 2"],
    ["a vector of nothing", [entry(0, [1]), entry(1, [])], "data.1.embedding"],
    ["a number that is none", [entry(0, [1]), entry(1, ["secret"])], "data.1.embedding.0"],
    ["a number that no table holds", [entry(0, [1]), entry(1, [1e39])], "data.1.embedding.0"],
    ["null for a number", [entry(0, [1]), entry(1, [null])], "data.1.embedding.0"],
    ["a vector longer than any model's", [entry(0, [1]), entry(1, Array(16_001).fill(0))], "data.1.embedding"],
    ["text for a vector, as for another encoding", [entry(0, "AACAPw=="), entry(1, "AACAPw==")], "data.0.embedding"],
    ["no list", { 0: [1] }, "data"],
  ])("with %s are refused, saying what is wrong and nothing of what was sent", async (_what, data, said) => {
    const { peer, embeddings } = await open();
    peer.respond(answering(data));
    const error = await rejection(embeddings.embed(["secret text", "another"]));
    expect(error).toMatchObject({ code: "RAG.EMBEDDINGS_ANSWER", retry: true });
    expect(error.message).toContain("expected a vector for each of 2 texts");
    expect(error.message).toContain(said);
    expect(inspect(error, { depth: 9 })).not.toContain("secret");
  });

  test.each([
    ["a page for people", "<html>secret</html>", "the whole"],
    ["nothing", "", "the whole"],
    ["an infinite number", `{"data":[{"index":0,"embedding":[1e999]}]}`, "data.0.embedding.0"],
  ])("are refused where the answer is %s", async (_what, body, said) => {
    const { peer, embeddings } = await open();
    peer.respond(() => ({ body }));
    const error = await rejection(embeddings.embed(["a"]));
    expect(error).toMatchObject({ code: "RAG.EMBEDDINGS_ANSWER" });
    expect(error.message).toContain(said);
    expect(inspect(error, { depth: 9 })).not.toContain("secret");
  });

  test("of two requests that differ in length are refused", async () => {
    const { peer, embeddings } = await open();
    peer.respond(({ text }) => {
      const { input } = JSON.parse(text) as { input: string[] };
      return answering(input.map((_, index) => entry(index, input.length === 1 ? [1] : [1, 2])))();
    });
    expect(await rejection(embeddings.embed(["a", "b", "c"]))).toMatchObject({ code: "RAG.EMBEDDINGS_ANSWER" });
  });

  test.each([
    [400, "RAG.EMBEDDINGS_REJECTED", false],
    [401, "RAG.EMBEDDINGS_REJECTED", false],
    [403, "RAG.EMBEDDINGS_REJECTED", false],
    [404, "RAG.EMBEDDINGS_REJECTED", false],
    [413, "RAG.EMBEDDINGS_REJECTED", false],
    [422, "RAG.EMBEDDINGS_REJECTED", false],
    [302, "HTTP.REDIRECT", false],
    [408, "RAG.EMBEDDINGS_FAILED", true],
    [429, "RAG.EMBEDDINGS_FAILED", true],
    [500, "RAG.EMBEDDINGS_FAILED", true],
    [503, "RAG.EMBEDDINGS_FAILED", true],
  ])("answered with %i end in %s, which a retry helps: %s", async (status, code, retry) => {
    const { peer, embeddings } = await open();
    peer.respond(() => ({ status, headers: { location: "/elsewhere" }, body: `{"error":{"message":"the key ${KEY} and the text"}}` }));
    const error = await rejection(embeddings.embed(["the text"]));
    expect(error).toMatchObject({ code, retry, facts: { status } });
    expect(inspect(error, { depth: 9 })).not.toMatch(/sk-very-secret|the text/);
    expect(peer.requests).toHaveLength(1);
  });

  test("that are refused say the endpoint's own code for it, but never the key", async () => {
    const { peer, embeddings } = await open({ apiKey: "secret_word" });
    const refusing = (code: string) => () => ({ status: 400, body: JSON.stringify({ error: { code, message: "free text" } }) });
    peer.respond(refusing("context_length_exceeded"));
    const error = await rejection(embeddings.embed(["a"]));
    expect(error.message).toBe("expected the embeddings endpoint to answer 2xx, got 400 (context_length_exceeded)");
    for (const code of ["secret_word", "bad_secret_word", "free text", "x".repeat(200)]) {
      peer.respond(refusing(code));
      expect((await rejection(embeddings.embed(["a"]))).message).toBe("expected the embeddings endpoint to answer 2xx, got 400");
    }
  });

  test.each([
    ["hang", "HTTP.TIMEOUT"],
    ["drop", "HTTP.NETWORK"],
  ] as const)("of an endpoint that does %s fail in a way that a retry helps, within the deadline", async (reply, code) => {
    const { peer, embeddings } = await open({ deadlineMs: reply === "hang" ? 300 : 20_000 });
    peer.respond(() => reply);
    const error = await rejection(embeddings.embed(["a"]));
    expect(error).toMatchObject({ code, retry: true });
    expect(inspect(error, { depth: 9 })).not.toContain(KEY);
  });

  test("share one deadline over all their requests: each is given what the others have left of it", async () => {
    const given: number[] = [];
    const http = {
      request: ({ deadlineMs }: { deadlineMs: number }) => {
        given.push(deadlineMs);
        // A request takes time, without anything that waits.
        for (const until = performance.now() + 3; performance.now() < until;);
        return Promise.resolve({
          status: 200,
          headers: {},
          body: Buffer.from(JSON.stringify({ data: [entry(0, [1])] })),
          truncated: false,
        });
      },
    };
    const { embeddings } = await open({ http, batchSize: 1, deadlineMs: 30 });
    const error = await rejection(embeddings.embed(Array.from({ length: 40 }, (_, n) => `text ${n}`)));
    expect(error).toMatchObject({ code: "RAG.EMBEDDINGS_FAILED", facts: { deadlineMs: 30 } });
    expect(given.length).toBeLessThanOrEqual(10);
    expect(given).toEqual(given.toSorted((one, other) => other - one));
    expect(Math.max(...given)).toBeLessThanOrEqual(30);
  });

  test("stop with the first request that fails", async () => {
    const { peer, embeddings } = await open({ batchSize: 1, deadlineMs: 600_000 });
    peer.respond((_request, index) => (index === 0 ? { status: 400 } : "hang"));
    const error = await rejection(embeddings.embed(Array.from({ length: 40 }, (_, n) => `text ${n}`)));
    expect(error).toMatchObject({ code: "RAG.EMBEDDINGS_REJECTED" });
    expect(peer.requests.length).toBeLessThanOrEqual(4);
  });

  test("stop with their signal", async () => {
    const { peer, embeddings } = await open();
    peer.respond(() => "hang");
    const stop = new AbortController();
    const asked = rejection(embeddings.embed(["a"], { signal: stop.signal }));
    await peer.nextRequest();
    stop.abort(new Error("the worker stops"));
    expect(await asked).toMatchObject({ code: "HTTP.NETWORK" });
  });

  test("of an address inside the house are refused unless it is allowed", async () => {
    const http = createGuardedHttp();
    onTestFinished(() => http.close());
    const { peer, embeddings } = await open({ http });
    expect(await rejection(embeddings.embed(["a"]))).toMatchObject({ code: "HTTP.BLOCKED_ADDRESS", retry: false });
    expect(peer.requests).toEqual([]);
  });
});

describe("no embeddings", () => {
  describeEmbeddings(() => Promise.resolve(createNoEmbeddings()));
});
