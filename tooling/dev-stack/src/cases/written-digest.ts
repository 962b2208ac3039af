import { rowCreate } from "@toolctrl/domain/rows";
import { REQUEST } from "../prepare-workflows.ts";
import type { SampleCase } from "../sample-case.ts";

/** A digest that somebody writes into a row: the tenant's workflow mails it, and marks it as sent. */
export const writtenDigest: SampleCase = {
  name: "written digest",
  effects: { "workflow-trigger": 1, "mail-render": 1, "email-send": 1, "webhook-deliver": 1 },
  async write(tx, { tenantId, runId }, key) {
    const data = { title: key, to: "customer@example.com", lines: ["two parcels on their way", "one at the door"] };
    await rowCreate(tx, { tenantId, table: "digest", data, context: REQUEST, event: { correlationId: runId } });
    return 3;
  },
};
