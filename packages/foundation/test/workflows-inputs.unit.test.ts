import { describe, expect, test } from "vitest";
import { listSchemaProblems } from "../src/schema-problems.ts";
import { checkWorkflow, inputValueSchema, type InputField } from "../src/workflows.ts";
import { workflow } from "./workflows-support.ts";

const fields: InputField[] = [
  { name: "note", label: "Note", type: "text", required: true, maxLength: 10 },
  { name: "amount", label: "Amount", type: "number", required: false },
  { name: "ok", label: "OK", type: "boolean", required: false },
  { name: "due", label: "Due", type: "date", required: false },
  { name: "kind", label: "Kind", type: "choice", required: false, choices: ["low", "high"] },
];
const schema = inputValueSchema({ fields });

function problemsOf(input: unknown): string[] {
  const { error } = schema.safeParse(input);
  return error === undefined ? [] : listSchemaProblems(error).map(({ path, message }) => `${path}: ${message}`);
}

describe("inputValueSchema", () => {
  test("takes a value of each field's type, as it is", () => {
    const value = { note: "fine", amount: -0.5, ok: false, due: "2028-02-29", kind: "high" };
    expect(schema.parse(value)).toEqual(value);
  });

  test("leaves out what was left empty", () => {
    expect(schema.parse({ note: " a ", amount: null, due: "", kind: "  " })).toStrictEqual({ note: " a " });
  });

  test.each<[unknown, string[]]>([
    [{}, ["note: expected a text, got nothing"]],
    [{ note: "  " }, ["note: expected a text, got nothing"]],
    [{ note: null }, ["note: expected a text, got nothing"]],
    [{ note: 5 }, ["note: expected a text, got a number"]],
    [{ note: "12345678901" }, ["note: expected at most 10 characters, got 11"]],
    [{ note: "a\u0000" }, ["note: expected well-formed Unicode without U+0000"]],
    [{ note: "\uD800" }, ["note: expected well-formed Unicode without U+0000"]],
    [{ note: "a", amount: "5" }, ["amount: expected a number, got another text"]],
    [{ note: "a", amount: Infinity }, ["amount: expected a number, got a number"]],
    [{ note: "a", ok: "true" }, ["ok: expected true or false, got another text"]],
    [{ note: "a", ok: [true] }, ["ok: expected true or false, got a list"]],
    [{ note: "a", due: "2026-02-29" }, ["due: expected a day like 2026-03-31, got another text"]],
    [{ note: "a", due: "2026-02-01T00:00:00Z" }, ["due: expected a day like 2026-03-31, got another text"]],
    [{ note: "a", kind: "secret" }, ["kind: expected one of low, high, got another text"]],
    [{ note: "a", kind: {} }, ["kind: expected one of low, high, got an object"]],
    [{ note: "a", extra: 1 }, ["extra: unknown key"]],
    [
      { amount: "x", ok: 1 },
      ["note: expected a text, got nothing", "amount: expected a number, got another text", "ok: expected true or false, got a number"],
    ],
    [null, [": expected an object of fields, got null"]],
    [[], [": expected an object of fields, got a list"]],
    ["note", [": expected an object of fields, got another text"]],
    [undefined, [": expected an object of fields, got nothing"]],
  ])("answers %j with what was expected and what kind of thing came", (input, problems) => {
    expect(problemsOf(input)).toEqual(problems);
  });

  test("takes any choice there is by its text alone", () => {
    const choices = ["__proto__", "constructor", "1"];
    const any = inputValueSchema({ fields: [{ name: "kind", label: "Kind", type: "choice", required: true, choices }] });
    for (const kind of choices) expect(any.parse({ kind })).toEqual({ kind });
    expect(any.safeParse({ kind: "toString" }).success).toBe(false);
  });

  test("never repeats what somebody has written", () => {
    expect(problemsOf({ note: "x".repeat(100), amount: "secret-1", due: "secret-2", kind: "secret-3" }).join()).not.toContain("secret");
  });

  test("refuses more than 64 KiB", () => {
    const large = inputValueSchema({
      fields: Array.from({ length: 7 }, (_, at) => ({ name: `f${at}`, label: "F", type: "text", required: true, maxLength: 10_000 })),
    });
    const valueOf = (length: number): object => Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`f${at}`, "x".repeat(length)]));
    expect(large.safeParse(valueOf(9_000)).success).toBe(true);
    expect(large.safeParse(valueOf(9_500)).error?.issues[0]?.message).toBe("expected at most 65536 bytes of JSON");
  });

  test("takes the input of a manual trigger as it takes a wait's fields", () => {
    const { trigger } = checkWorkflow({
      ...workflow("a", "a → null"),
      trigger: { type: "manual", input: [{ name: "amount", label: "Amount", type: "number" }] },
    });
    const asked = trigger.type === "manual" ? (trigger.input ?? []) : [];
    expect(inputValueSchema({ fields: asked }).safeParse({ amount: 1 }).success).toBe(true);
    expect(inputValueSchema({ fields: asked }).safeParse({}).success).toBe(false);
  });
});
