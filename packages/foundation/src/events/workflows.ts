import { z } from "zod";
import { isApplicationEventType } from "../event-type.ts";

/** Something happened that workflows may wait for. */
export const workflowTriggerEventSchema = z
  .strictObject({
    source: z.enum(["row", "form", "event"]).describe("Which kind of trigger it is for: `row`, `form` or `event`"),
    eventType: z
      .string()
      .refine(isApplicationEventType, { error: "expected the type of an application event, like row.created" })
      .describe("What happened, for example `row.created`"),
    object: z.string().min(1).max(200).optional().describe("The kind of record it happened to"),
    recordId: z.string().min(1).max(200).optional().describe("Which record"),
    data: z.record(z.string(), z.json()).describe("What conditions and templates see of it"),
  })
  .describe("Something happened that may start workflows; `workflow-trigger` starts those whose trigger it fits.");

/** An execution that is there is to be run. */
export const workflowExecutionRequestedSchema = z
  .strictObject({ executionId: z.uuid().describe("The execution") })
  .describe("An execution was started by hand or through the API, and is to be run.");

/** An execution that rests is to go on. */
export const workflowContinueRequestedSchema = z
  .strictObject({
    executionId: z.uuid().describe("The execution"),
    reason: z
      .enum(["input", "expiry", "retry", "retry-from", "stream"])
      .describe(
        "`input`: somebody answered. `expiry`: nobody did in time. `retry`: a step is due again. `retry-from`: somebody runs it again from a step. `stream`: its process may be gone",
      ),
    stepId: z.uuid().optional().describe("The step it is about"),
  })
  .describe("An execution that rests is to go on.");
