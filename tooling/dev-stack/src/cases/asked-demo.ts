import { submitForm } from "@toolctrl/domain/forms";
import { DEMO_FORM, REQUEST } from "../prepare-workflows.ts";
import type { SampleCase } from "../sample-case.ts";

/** Somebody asks for a demo: the tenant's workflow records it and asks the sales people, who accept; then the mail leaves. */
export const askedDemo: SampleCase = {
  name: "asked demo",
  effects: { "workflow-trigger": 1, "mail-render": 1, "email-send": 1, "webhook-deliver": 1 },
  async write(tx, { tenantId, runId }, key) {
    const { id: formId } = await tx.form.findFirstOrThrow({ where: { tenantId, name: DEMO_FORM }, select: { id: true } });
    const data = { fullName: key, email: `${key}@example.com`, seats: 3 };
    await submitForm(tx, { tenantId, formId, data, submissionKey: key, context: REQUEST, event: { correlationId: runId } });
    return 3;
  },
};
