import { databaseEffect } from "@toolctrl/consumer/database-effect";
import type { Delivery, NamedConsumer } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import { routeSubmission } from "@toolctrl/domain/forms";
import { CodedError } from "@toolctrl/foundation/errors";
import { formSubmissionReceivedSchema } from "@toolctrl/foundation/events";
import { listSchemaProblems } from "@toolctrl/foundation/schema-problems";
import { causedBy } from "../caused-by.ts";

const NAME = "form-route";

/**
 * Applies a form's rules to its submissions of `outbox.form-submission-route`: lead, published events and receipt are one transaction, so
 * that a crash leaves all of them or none.
 */
export function createFormRouteConsumer(deps: { pool: Database["pool"] }): NamedConsumer<typeof NAME> {
  return {
    name: NAME,
    queue: "outbox.form-submission-route",
    concurrency: 10,
    async handle(delivery) {
      const id = submissionIdOf(delivery);
      const { tenantId, effectEpoch } = delivery;
      return databaseEffect(deps.pool, NAME, delivery, (_tx, outbox) =>
        routeSubmission(outbox, { tenantId, id, effectEpoch, event: causedBy(delivery) }),
      );
    },
  };
}

function submissionIdOf({ eventId, type, payload }: Delivery): string {
  const parsed = formSubmissionReceivedSchema.safeParse(payload);
  if (parsed.success) return parsed.data.recordId;
  const problems = listSchemaProblems(parsed.error);
  const lines = problems.map(({ path, message }) => `  - ${path}: ${message}`);
  throw new CodedError("RECEIVER.PAYLOAD", `expected ${type} to name a submission, got:\n${lines.join("\n")}`, {
    facts: { eventId, paths: problems.map(({ path }) => path) },
  });
}
