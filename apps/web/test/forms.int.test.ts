import { expect, test } from "vitest";
import { openWeb, type Web } from "./support.ts";

const FORM = { name: "Ask for a demo", fields: [{ name: "email", kind: "email", required: true }] };

async function addForm(web: Web): Promise<string> {
  const { status, body } = await web.call("POST", "/api/forms", FORM);
  expect(status).toBe(201);
  return (body as unknown as { form: { id: string } }).form.id;
}

test("a form is made and read; what is sent through it is kept and told of", async () => {
  const web = await openWeb();
  const id = await addForm(web);
  expect(await web.call("GET", `/api/forms/${id}`)).toMatchObject({
    status: 200,
    body: { form: { name: FORM.name, version: 1, fields: FORM.fields } },
  });
  const sent = await web.call("POST", `/api/forms/${id}/submissions`, { data: { email: "ann@example.com" } });
  expect(sent).toMatchObject({
    status: 201,
    body: { duplicate: false, submission: { formId: id, formVersion: 1, data: { email: "ann@example.com" } } },
  });
  expect(await web.published()).toEqual(["form.submission.received", "workflow.trigger.event", "webhook.form.submitted"]);
});

test("a second submission with the same key is the first one again", async () => {
  const web = await openWeb();
  const id = await addForm(web);
  const send = () => web.call("POST", `/api/forms/${id}/submissions`, { data: { email: "ann@example.com" }, submissionKey: "once" });
  const first = await send();
  const second = await send();
  expect([first.status, second.status]).toEqual([201, 200]);
  expect(second.body).toEqual({ ...first.body, duplicate: true });
  expect((await web.published()).filter((type) => type === "form.submission.received")).toHaveLength(1);
});

test("data that do not fit are refused with what is wrong in each field", async () => {
  const web = await openWeb();
  const id = await addForm(web);
  const { status, body } = await web.call("POST", `/api/forms/${id}/submissions`, { data: { email: "nobody", more: 1 } });
  expect({ status, code: body.error?.code }).toEqual({ status: 422, code: "FORM.DATA" });
  expect(JSON.stringify(body.error?.facts)).toContain("email");
  expect(await web.published()).toEqual([]);
});
