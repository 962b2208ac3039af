import { expect, test } from "vitest";
import { manual, note } from "./definitions.ts";
import { openWeb } from "./support.ts";

test("a workflow is made, listed, read with its definition, given its next version, and switched", async () => {
  const web = await openWeb();
  const created = await web.call("POST", "/api/workflows", { definition: manual([note("a")]) as never });
  expect(created).toMatchObject({ status: 201, body: { workflow: { name: "Test", version: 1, live: false } } });
  const { id } = (created.body as unknown as { workflow: { id: string } }).workflow;
  const path = `/api/workflows/${id}`;
  expect((await web.call("GET", "/api/workflows")).body).toMatchObject({ workflows: [{ id }] });
  expect((await web.call("GET", `/api/workflows?after=${id}`)).body).toEqual({ workflows: [] });
  expect((await web.call("GET", path)).body).toMatchObject({ workflow: { id, version: 1 }, definition: { start: "a" } });
  expect((await web.call("PUT", path, { definition: manual([note("b")]) as never })).body).toMatchObject({ workflow: { version: 2 } });
  expect((await web.call("GET", path)).body).toMatchObject({ workflow: { version: 2 }, definition: { start: "b" } });
  expect((await web.call("POST", `${path}/live`, { live: true })).body).toMatchObject({ workflow: { live: true } });
});

test("a definition that does not hold is refused with every path that is wrong", async () => {
  const web = await openWeb();
  const definition = { ...manual([note("a")]), start: "b", trigger: { type: "row", table: "deal", on: ["created"], condition: "1 +" } };
  const { status, body } = await web.call("POST", "/api/workflows", { definition: definition as never });
  expect({ status, code: body.error?.code }).toEqual({ status: 400, code: "WORKFLOW.DEFINITION" });
  expect(body.error?.facts["problems"]).toMatchObject([{ path: "start" }]);
  expect((await web.call("GET", "/api/workflows")).body).toEqual({ workflows: [] });
});
