import { describe, expect, test } from "vitest";
import { mailMessageSchema } from "../src/events.ts";
import { listSchemaProblems } from "../src/schema-problems.ts";
import { BLOCK_IDS, type BlockId, blockConfigSchemas, branchesOf, checkWorkflow, retryOf } from "../src/workflows.ts";
import { CONFIGS, pathsOf, workflow } from "./workflows-support.ts";

/** Where a configuration is wrong; nothing when it is right. */
function wrongPaths(block: BlockId, config: unknown): string[] {
  const { error } = blockConfigSchemas[block].safeParse(config);
  return error === undefined ? [] : listSchemaProblems(error).map(({ path }) => path);
}

const long = (length: number): string => "x".repeat(length);
const field = { name: "ok", label: "OK", type: "text" };
const choice = { ...field, type: "choice", choices: ["a", "b"] };
const asking = (fields: unknown): unknown => ({ title: "t", fields });
const cases = (...entries: unknown[]): unknown => ({ value: "x", cases: entries });

test("there are these blocks, and no others", () => {
  expect(BLOCK_IDS).toEqual(["email", "httpRequest", "if", "switch", "rowCreate", "rowUpdate", "rowDelete", "waitForInput"]);
  expect(Object.keys(blockConfigSchemas)).toEqual(BLOCK_IDS);
});

test.each(BLOCK_IDS)("%s has a configuration that is taken, knows each of its keys, and names its node's branches", (block) => {
  expect(wrongPaths(block, CONFIGS[block])).toEqual([]);
  expect(wrongPaths(block, { ...CONFIGS[block], surprise: 1 })).toEqual(["surprise"]);
  const { nodes } = workflow(`a:${block}`);
  const branches = { if: ["then", "else"], switch: ["first", "second", "default"], waitForInput: ["next", "expired"] };
  expect(branchesOf(nodes[0] as never)).toEqual(Object.hasOwn(branches, block) ? branches[block as keyof typeof branches] : ["next"]);
});

test("a mail's templates may be as long as those of the event that it becomes", () => {
  const mail = { to: [long(320)], replyTo: long(320), subject: long(1000), text: long(200_000), html: long(200_000) };
  expect(wrongPaths("email", mail)).toEqual([]);
  expect(mailMessageSchema.safeParse(mail).success).toBe(true);
});

test.each<[BlockId, object, unknown]>([
  ["email", CONFIGS.email, { to: Array.from({ length: 50 }, () => "a@x.test") }],
  ["httpRequest", CONFIGS.httpRequest, { headers: { "X-Id": "{{ input.id }}" }, body: { json: { a: ["{{ x }}", 1, null] } } }],
  ["httpRequest", CONFIGS.httpRequest, { body: { text: "" }, successStatuses: [200, 404], timeoutSeconds: 30 }],
  ["httpRequest", CONFIGS.httpRequest, { body: { json: null }, credentialId: "0b6a7c1e-5f1d-4c57-9d9b-0f3b7f4f2f10" }],
  [
    "switch",
    CONFIGS.switch,
    cases({ name: "a", equals: null }, { name: "b", equals: false }, { name: "c", equals: "" }, { name: "d", equals: 0 }),
  ],
  ["rowCreate", CONFIGS.rowCreate, { parent: { table: "project", id: "{{ input.project }}" }, data: {} }],
  ["waitForInput", CONFIGS.waitForInput, { expiresInSeconds: 60, assignee: "{{ input.owner }}" }],
  ["waitForInput", CONFIGS.waitForInput, { expiresInSeconds: 7_776_000, fields: [choice, { ...field, name: "b", maxLength: 10_000 }] }],
])("%s takes %j and more", (block, config, more) => {
  expect(wrongPaths(block, { ...config, ...(more as object) })).toEqual([]);
});

test.each<[BlockId, object, object, string[]]>([
  ["email", CONFIGS.email, { to: [] }, ["to"]],
  ["email", CONFIGS.email, { to: Array.from({ length: 51 }, () => "a@x.test") }, ["to"]],
  ["email", CONFIGS.email, { to: long(321) }, ["to"]],
  ["email", CONFIGS.email, { from: "a@x.test", data: {} }, ["from", "data"]],
  ["email", CONFIGS.email, { replyTo: "" }, ["replyTo"]],
  ["email", CONFIGS.email, { subject: "" }, ["subject"]],
  ["email", CONFIGS.email, { text: undefined }, ["text"]],
  ["email", CONFIGS.email, { html: long(200_001) }, ["html"]],
  ["httpRequest", CONFIGS.httpRequest, { method: "HEAD" }, ["method"]],
  ["httpRequest", CONFIGS.httpRequest, { url: "" }, ["url"]],
  ["httpRequest", CONFIGS.httpRequest, { headers: { "a b": "c" } }, ["headers.a b"]],
  [
    "httpRequest",
    CONFIGS.httpRequest,
    { headers: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`h${at}`, "v"])) },
    ["headers"],
  ],
  ["httpRequest", CONFIGS.httpRequest, { headers: { a: 1 } }, ["headers.a"]],
  ["httpRequest", CONFIGS.httpRequest, { body: {} }, ["body"]],
  ["httpRequest", CONFIGS.httpRequest, { body: { json: 1, text: "a" } }, ["body"]],
  ["httpRequest", CONFIGS.httpRequest, { body: { form: {} } }, ["body.form", "body"]],
  ["httpRequest", CONFIGS.httpRequest, { body: "text" }, ["body"]],
  ["httpRequest", CONFIGS.httpRequest, { credentialId: "main" }, ["credentialId"]],
  ["httpRequest", CONFIGS.httpRequest, { successStatuses: [] }, ["successStatuses"]],
  [
    "httpRequest",
    CONFIGS.httpRequest,
    { successStatuses: [99, 600, 200.5] },
    ["successStatuses.0", "successStatuses.1", "successStatuses.2"],
  ],
  ["httpRequest", CONFIGS.httpRequest, { timeoutSeconds: 0 }, ["timeoutSeconds"]],
  ["httpRequest", CONFIGS.httpRequest, { timeoutSeconds: 31 }, ["timeoutSeconds"]],
  ["if", CONFIGS.if, { condition: "" }, ["condition"]],
  ["if", CONFIGS.if, { condition: long(2001) }, ["condition"]],
  ["switch", CONFIGS.switch, { value: "" }, ["value"]],
  ["switch", CONFIGS.switch, { cases: [] }, ["cases"]],
  ["switch", CONFIGS.switch, { cases: Array.from({ length: 51 }, (_, at) => ({ name: `c${at}`, equals: at })) }, ["cases"]],
  ["switch", CONFIGS.switch, cases({ name: "default", equals: 1 }) as object, ["cases.0.name"]],
  ["switch", CONFIGS.switch, cases({ name: "a", equals: 1 }, { name: "a", equals: 2 }) as object, ["cases.1.name"]],
  ["switch", CONFIGS.switch, cases({ name: "a", equals: {} }, { name: "b" }) as object, ["cases.0.equals", "cases.1.equals"]],
  ["rowCreate", CONFIGS.rowCreate, { table: "Task", data: [] }, ["table", "data"]],
  ["rowCreate", CONFIGS.rowCreate, { parent: { table: "project" } }, ["parent.id"]],
  ["rowUpdate", CONFIGS.rowUpdate, { id: "" }, ["id"]],
  ["rowUpdate", CONFIGS.rowUpdate, { data: undefined }, ["data"]],
  ["rowDelete", CONFIGS.rowDelete, { id: undefined, data: {} }, ["id", "data"]],
  ["waitForInput", CONFIGS.waitForInput, { title: "" }, ["title"]],
  ["waitForInput", CONFIGS.waitForInput, asking([]) as object, ["fields"]],
  [
    "waitForInput",
    CONFIGS.waitForInput,
    asking(Array.from({ length: 51 }, (_, at) => ({ ...field, name: `f${at}` }))) as object,
    ["fields"],
  ],
  ["waitForInput", CONFIGS.waitForInput, asking([field, field]) as object, ["fields.1.name"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...field, type: "file" }]) as object, ["fields.0.type"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...field, label: "" }]) as object, ["fields.0.label"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...field, choices: ["a"] }]) as object, ["fields.0.choices"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...field, maxLength: 10_001 }]) as object, ["fields.0.maxLength"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...field, type: "number", maxLength: 5 }]) as object, ["fields.0.maxLength"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...choice, choices: undefined }]) as object, ["fields.0.choices"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...choice, choices: [] }]) as object, ["fields.0.choices"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...choice, choices: ["a", " "] }]) as object, ["fields.0.choices.1"]],
  ["waitForInput", CONFIGS.waitForInput, asking([{ ...choice, choices: ["a", "a"] }]) as object, ["fields.0.choices.1"]],
  ["waitForInput", CONFIGS.waitForInput, { expiresInSeconds: 59 }, ["expiresInSeconds"]],
  ["waitForInput", CONFIGS.waitForInput, { expiresInSeconds: 7_776_001 }, ["expiresInSeconds"]],
  ["waitForInput", CONFIGS.waitForInput, { assignee: "" }, ["assignee"]],
])("%s: %j with %j is refused at %j", (block, config, change, paths) => {
  expect(wrongPaths(block, { ...config, ...change })).toEqual(paths);
});

describe("retries", () => {
  const retryOfNode = (block: BlockId, retry?: object): object => {
    const branches = branchesOf(workflow(`a:${block}`).nodes[0] as never);
    const definition = workflow(`a:${block}`, ...branches.map((branch) => `a.${branch} → null`));
    const nodes = definition.nodes.map((node) => ({ ...node, ...(retry === undefined ? {} : { retry }) }));
    const [node] = checkWorkflow({ ...definition, nodes }).nodes;
    return node === undefined ? {} : retryOf(node);
  };

  test("a request is tried three times, everything else once", () => {
    expect(Object.fromEntries(BLOCK_IDS.map((block) => [block, retryOfNode(block)]))).toEqual({
      ...Object.fromEntries(BLOCK_IDS.map((block) => [block, { maxAttempts: 1, backoffSeconds: 30 }])),
      httpRequest: { maxAttempts: 3, backoffSeconds: 30 },
    });
  });

  test("what the node says counts, with what it leaves out filled in", () => {
    expect(retryOfNode("rowCreate", {})).toEqual({ maxAttempts: 3, backoffSeconds: 30 });
    expect(retryOfNode("httpRequest", { maxAttempts: 1 })).toEqual({ maxAttempts: 1, backoffSeconds: 30 });
    expect(retryOfNode("email", { backoffSeconds: 3600, maxAttempts: 10 })).toEqual({ maxAttempts: 10, backoffSeconds: 3600 });
  });

  test.each([
    [{ maxAttempts: 0 }, "maxAttempts"],
    [{ maxAttempts: 11 }, "maxAttempts"],
    [{ backoffSeconds: 0 }, "backoffSeconds"],
    [{ backoffSeconds: 3601 }, "backoffSeconds"],
    [{ delay: 1 }, "delay"],
  ])("%j is refused", (retry, key) => {
    const { nodes, ...rest } = workflow("a", "a → null");
    expect(pathsOf({ ...rest, nodes: [{ ...nodes[0], retry }] })).toEqual([`nodes.0.retry.${key}`]);
  });
});
