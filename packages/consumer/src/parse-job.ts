import { jobEnvelopeSchema, type JobEnvelope } from "@toolctrl/foundation/envelope";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";

/**
 * The envelope of a job.
 * @throws CodedError `RECEIVER.PAYLOAD` naming each path; never the values, they may be personal.
 */
export function parseJob(data: unknown): JobEnvelope {
  const parsed = jobEnvelopeSchema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new CodedError("RECEIVER.PAYLOAD", `expected the job to carry an event envelope, got:\n${z.prettifyError(parsed.error)}`, {
    facts: { paths: parsed.error.issues.map((issue) => issue.path.join(".")) },
  });
}
