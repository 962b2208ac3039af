import { createForm, submitForm } from "@toolctrl/domain/forms";
import type { PrismaTx, SampleScope } from "../intents.ts";
import type { SampleCase } from "../sample-case.ts";

const FORM = "Contact us";

/** The form of a tenant, whose rule makes a lead and tells everybody who is to know. */
export async function prepareForm(tx: PrismaTx, tenantId: string): Promise<void> {
  if ((await tx.form.count({ where: { tenantId, name: FORM } })) > 0) return;
  await createForm(tx, {
    tenantId,
    name: FORM,
    fields: [
      { kind: "text", name: "name", required: true },
      { kind: "email", name: "email", required: true },
      { kind: "text", name: "reference", required: true },
    ],
    routes: [
      {
        id: "new-lead",
        actions: [
          { type: "lead", name: "name", email: "email" },
          { type: "mail", to: { field: "email" }, subject: "We got your message {{ data.reference }}", text: "Hello {{ data.name }}." },
          { type: "webhook" },
          { type: "notification", recipientId: null, title: "A message of {{ data.name }}: {{ data.reference }}" },
        ],
      },
    ],
  });
}

/** A form that is sent twice, as after a double click: one lead, and each message once. */
export const sentForm: SampleCase = {
  name: "sent form",
  effects: { "form-route": 1, "mail-render": 1, "email-send": 1, "webhook-deliver": 1, "notification-create": 1 },
  write: send,
  async follow(scope, key) {
    await scope.database.prisma.$transaction((tx) => send(tx, scope, key));
    return 0;
  },
};

async function send(tx: PrismaTx, { tenantId, runId }: SampleScope, key: string): Promise<number> {
  const { id: formId } = await tx.form.findFirstOrThrow({ where: { tenantId, name: FORM }, select: { id: true } });
  const data = { name: "Ann", email: `${key}@example.com`, reference: key };
  await submitForm(tx, { tenantId, formId, data, submissionKey: key, event: { correlationId: runId } });
  return 1;
}
