import type { JsonValue } from "@toolctrl/foundation/json";
import type { Reply } from "@toolctrl/testkit/http-peer";
import { describe, expect, test } from "vitest";
import { manual, note, notesOf, openBench, type Bench } from "./support.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** A run of one call that is answered so, and a note after it. */
async function callAnswered(reply: Reply): Promise<{ bench: Bench; output: JsonValue; run(): Promise<unknown> }> {
  const bench = await openBench(() => reply);
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
  const key = await bench.start(await bench.add(manual([call, note("after", { status: "{{ steps.call.status }}" })])));
  await bench.run(key);
  const { status, steps } = await bench.view(key);
  expect({ status, calls: bench.http.requests.length, notes: await notesOf(bench) }).toEqual({
    status: "success",
    calls: 1,
    notes: { after: 1 },
  });
  return { bench, output: steps[0]?.output ?? null, run: () => bench.run(key) };
}

describe("an answer that jsonb would refuse is kept all the same, and its call made once", () => {
  test.each<[string, string, JsonValue]>([
    ["U+0000 in a key", '{"a\\u0000b":1}', { "a\uFFFDb": 1 }],
    ["half of a surrogate pair as a key", '{"\\ud800":1}', { "\uFFFD": 1 }],
    [
      "both in keys and texts within",
      '[{"a\\u0000":["\\udc00",{"\\u0000":"\\u0000"}]}]',
      [{ "a\uFFFD": ["\uFFFD", { "\uFFFD": "\uFFFD" }] }],
    ],
    [
      "keys that become one: the last stands, as of a key that is written twice",
      '{"\\u0000":1,"a":0,"\\ud800":2,"a":3}',
      { "\uFFFD": 2, a: 3 },
    ],
  ])("%s", async (_what, body, kept) => {
    expect((await callAnswered({ headers: JSON_TYPE, body })).output).toMatchObject({ status: 200, body: kept });
  });

  test("a text with both", async () => {
    expect((await callAnswered({ body: "a\u0000b" })).output).toMatchObject({ body: "a\uFFFDb" });
  });
});

test.each([63, 5000, 100_000])("an answer nested %i levels deep, which no expression could read, is kept as a text", async (levels) => {
  const body = "[".repeat(levels) + "]".repeat(levels);
  expect((await callAnswered({ headers: JSON_TYPE, body })).output).toMatchObject({ body });
});

test("an answer nested as deep as expressions read is kept as JSON", async () => {
  const body = "[".repeat(62) + "]".repeat(62);
  expect((await callAnswered({ headers: JSON_TYPE, body })).output).toMatchObject({ body: JSON.parse(body) as JsonValue });
});

test.each(["22P05", "54001"])(
  "a call whose answer the database refuses (%s) has failed for good: it is not made again",
  async (sqlState) => {
    const bench = await openBench();
    await bench.database.pool.query(
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this' USING ERRCODE = '${sqlState}'; END $$`,
    );
    await bench.database.pool.query(
      `CREATE TRIGGER refuse BEFORE UPDATE ON "WorkflowStep" FOR EACH ROW WHEN (NEW."status" = 'done') EXECUTE FUNCTION refuse()`,
    );
    const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
    const key = await bench.start(await bench.add(manual([call, note("after")])));
    expect(await bench.run(key)).toEqual({ kind: "ended", status: "error" });
    expect(await bench.view(key)).toMatchObject({
      reasonCode: "WORKFLOW.STEP_FAILED",
      reason: expect.stringContaining("not this"),
      steps: [{ nodeId: "call", status: "failed", attempts: 1, unknowns: 0 }],
    });
    expect(bench.http.requests).toHaveLength(1);
  },
);

const OK = '{"ok":true,"name":"Zoë"}';

describe("an answer is read by what it says it is", () => {
  test.each<[type: string, body: string | Buffer, kept: JsonValue]>([
    ["application/json; charset=utf-8", OK, { ok: true, name: "Zoë" }],
    ["application/problem+json", OK, { ok: true, name: "Zoë" }],
    ["APPLICATION/VND.API+JSON", OK, { ok: true, name: "Zoë" }],
    ["application/json", `\uFEFF${OK}`, { ok: true, name: "Zoë" }],
    ["application/json", `\uFEFF\uFEFF${OK}`, `\uFEFF${OK}`],
    ["application/json; charset=UTF-16LE", Buffer.from(`\uFEFF${OK}`, "utf16le"), { ok: true, name: "Zoë" }],
    ['application/json; charset="iso-8859-1"', Buffer.from(OK, "latin1"), { ok: true, name: "Zoë" }],
    ["text/plain;charset=iso-8859-1", Buffer.from("Zoë", "latin1"), "Zoë"],
    ["text/plain; charset=nobody-knows", "Zoë", "Zoë"],
    ["text/plain", `\uFEFF${OK}`, OK],
    ["application/x-ndjson", OK, OK],
    ["text/plain; charset=utf-8", Buffer.from([0x61, 0xff, 0x62]), "a\uFFFDb"],
  ])("%s: %j", async (type, body, kept) => {
    expect((await callAnswered({ headers: { "content-type": type }, body })).output).toMatchObject({ body: kept, truncated: false });
  });
});

test.each([
  ["JSON", JSON_TYPE],
  ["a text", {}],
])("%s of more than 256 KiB is cut: the step says so, and its call is not made again", async (_what, headers) => {
  const limit = 256 * 1024;
  const whole = JSON.stringify({ ok: true, list: "x".repeat(limit) });
  const { output } = await callAnswered({ headers, body: whole });
  expect(output).toMatchObject({ status: 200, body: whole.slice(0, limit), truncated: true });
});

test("an answer whose body never came is accepted by its status, and says that it is not whole", async () => {
  const bench = await openBench((_request, _index, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("{", () => response.destroy());
    return "handled";
  });
  const call = { id: "call", block: "httpRequest" as const, config: { method: "POST" as const, url: `${bench.http.url}/` } };
  const key = await bench.start(await bench.add(manual([call])));
  expect(await bench.run(key)).toEqual({ kind: "ended", status: "success" });
  expect((await bench.view(key)).steps[0]?.output).toMatchObject({
    status: 200,
    headers: { "content-length": "100" },
    body: null,
    truncated: true,
  });
  expect(bench.http.requests).toHaveLength(1);
});
