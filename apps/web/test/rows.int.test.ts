import { expect, test } from "vitest";
import { openWeb, TENANT, type Web } from "./support.ts";

type RowAnswer = { row: { id: string; revision: number; data: object }; eventId: string };

async function addRow(web: Web, body: object = { data: { stage: "new" } }): Promise<RowAnswer> {
  const { status, body: answer } = await web.call("POST", "/api/tables/deal/rows", body as never);
  expect(status).toBe(201);
  return answer as unknown as RowAnswer;
}

test("a row is made, read, changed and deleted; each change is told of in its transaction, by the name of the key", async () => {
  const web = await openWeb();
  const { row } = await addRow(web, { data: { stage: "new" }, notify: ["ann"] });
  const path = `/api/tables/deal/rows/${row.id}`;
  expect(await web.call("GET", path)).toMatchObject({
    status: 200,
    body: { row: { tenantId: TENANT, revision: 1, data: { stage: "new" }, fields: {} } },
  });
  expect(await web.call("PATCH", path, { data: { stage: "won" } })).toMatchObject({
    status: 200,
    body: { row: { revision: 2, data: { stage: "won" } } },
  });
  expect(await web.call("DELETE", path)).toMatchObject({ status: 200, body: { deleted: [{ table: "deal", id: row.id }] } });
  expect(await web.call("GET", path)).toMatchObject({
    status: 404,
    body: { error: { code: "ROW.NOT_FOUND", facts: { table: "deal", id: row.id } } },
  });
  const made = ["record.deal.created", "workflow.trigger.event", "webhook.row.created", "notification.message.create"];
  const changed = ["record.deal.updated", "workflow.trigger.event", "webhook.row.updated"];
  const gone = ["record.deal.deleted", "workflow.trigger.event", "webhook.row.deleted"];
  expect(await web.published()).toEqual([...made, ...changed, ...gone]);
});

test("what happened to a row is listed, newest first, in pages, and stays when it is gone", async () => {
  const web = await openWeb();
  const { row } = await addRow(web);
  const path = `/api/tables/deal/rows/${row.id}`;
  await web.call("PATCH", path, { data: { stage: "won" } });
  await web.call("DELETE", path, { notify: ["ann"] });
  const { body } = await web.call("GET", `${path}/events`);
  const { events } = body as unknown as { events: Array<{ id: string }> };
  expect(events).toMatchObject(
    ["row.deleted", "row.updated", "row.created"].map((type) => ({ type, source: "request", actor: "key:test" })),
  );
  const page = await web.call("GET", `${path}/events?before=${events[1]?.id}`);
  expect(page.body).toMatchObject({ events: [{ type: "row.created" }] });
});

test("a row below another goes with it", async () => {
  const web = await openWeb();
  const { row } = await addRow(web);
  const below = await addRow(web, { data: {}, parent: { table: "deal", id: row.id } });
  const { body } = await web.call("DELETE", `/api/tables/deal/rows/${row.id}`);
  expect((body as unknown as { deleted: Array<{ id: string }> }).deleted.map(({ id }) => id)).toEqual([below.row.id, row.id]);
});

test("a change that is refused publishes nothing", async () => {
  const web = await openWeb();
  const nowhere = { table: "deal", id: "0190a0a0-0000-7000-8000-000000000001" };
  expect(await web.call("POST", "/api/tables/deal/rows", { data: {}, parent: nowhere })).toMatchObject({ status: 404 });
  expect(await web.call("PATCH", `/api/tables/deal/rows/${nowhere.id}`, { data: {} })).toMatchObject({ status: 404 });
  expect(await web.call("DELETE", `/api/tables/deal/rows/${nowhere.id}`)).toMatchObject({ status: 404 });
  expect(await web.call("GET", `/api/tables/deal/rows/${nowhere.id}/events`)).toMatchObject({
    status: 404,
    body: { error: { code: "ROW.NOT_FOUND" } },
  });
  expect(await web.published()).toEqual([]);
});
