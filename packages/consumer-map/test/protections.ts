import type { ConsumerName } from "@toolctrl/foundation/consumers";
import type { Protection } from "../src/map.ts";

/** How one consumer of each protection is robbed of it: a change of the code that has to apply. */
export const PROTECTION_REMOVALS: Readonly<Record<Protection, { consumer: ConsumerName; file: string; find: string; put: string }>> = {
  "transactional-receipt": {
    consumer: "plugin-capability-count",
    file: "packages/consumer/src/database-effect.ts",
    find: "return withOutboxReceipt(outbox, scope, () => effect(tx, outbox));",
    put: "return effect(tx, outbox).then((result) => ({ result, scope, withOutboxReceipt }));",
  },
  "idempotency-claim": {
    consumer: "email-send",
    file: "packages/consumer/src/deliver.ts",
    find: "const result = await withOutboxIdempotency<unknown>(",
    put: `const unclaimed: typeof withOutboxIdempotency = async (to, id, run) => {
      const done = await run({ signal: job.signal });
      await to.receipts?.record(id, done);
      return done;
    };
    const result = await unclaimed<unknown>(`,
  },
  "natural-key": {
    consumer: "opportunity-create",
    file: "packages/domain/src/leads/opportunity-create.ts",
    find: "if (await exists(tx, { tenantId, sourceLeadId })) return;",
    put: "await exists(tx, { tenantId, sourceLeadId });",
  },
  "deterministic-set": {
    consumer: "field-sets",
    file: "packages/domain/src/field-sets/write-fields.ts",
    find: `WHERE "RowField"."appliedPosition" < EXCLUDED."appliedPosition"`,
    put: "",
  },
  "recorded-steps": {
    consumer: "workflow-trigger",
    file: "packages/workflow/src/runner/complete-step.ts",
    find: `await endStep(tx, step.id, { ...end, status: "done" });`,
    put: "",
  },
  "provider-key": {
    consumer: "marketing-sync",
    file: "apps/worker-mail/src/marketing/contact-request.ts",
    find: `"idempotency-key": key,`,
    put: `"idempotency-key": key + String(Math.random()),`,
  },
};
