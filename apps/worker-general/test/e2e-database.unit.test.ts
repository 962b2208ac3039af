import { expect, test } from "vitest";
import { chooseE2eDatabase, isStub } from "./e2e-database.ts";

const [A, B, C] = ["a", "b", "c"].map((name) => `postgres://db.internal/${name}`);
const STUB = "postgres://stub:stub@localhost:5432/stub";

test.each([
  [
    "its own variable first",
    { WORKFLOW_TRIGGER_E2E_DATABASE_URL: A, OUTBOX_E2E_DATABASE_URL: B, DATABASE_URL: C },
    { from: "WORKFLOW_TRIGGER_E2E_DATABASE_URL", url: A },
  ],
  ["then that of the outbox", { OUTBOX_E2E_DATABASE_URL: B, DATABASE_URL: C }, { from: "OUTBOX_E2E_DATABASE_URL", url: B }],
  ["an empty one is none", { WORKFLOW_TRIGGER_E2E_DATABASE_URL: "", DATABASE_URL: C }, { from: "DATABASE_URL", url: C }],
  ["a stub is none, and the suite has one of its own", { DATABASE_URL: STUB, TESTKIT_TEMPLATE: "t" }, { from: "the suite", url: null }],
  ["a stub is none", { DATABASE_URL: STUB }, null],
  ["without any there is none", {}, null],
])("of the environment's databases %s", (_, env, chosen) => {
  expect(chooseE2eDatabase(env)).toEqual(chosen);
});

test("a stub is a URL that no database answers at", () => {
  const stubs = ["", "file:./dev.db", "mysql://db.internal/app", "postgres://", "postgres://db.internal", "postgres://db.internal/"];
  const named = [
    "postgres://stub/app",
    "postgres://localhost/dummy",
    "postgresql://u:p@placeholder:5432/x",
    "postgres://db.invalid/app",
    "postgres://db.example.com/app",
  ];
  expect([...stubs, ...named].filter((url) => !isStub(url))).toEqual([]);
  expect(
    ["postgres://localhost/app", "postgresql://u:p@db.internal:6432/app?sslmode=require", "postgres://127.0.0.1/contest"].filter(isStub),
  ).toEqual([]);
});
