import { CodedError } from "@toolctrl/foundation/errors";
import { aiCostRecordedSchema } from "@toolctrl/foundation/events";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { z } from "zod";
import { parsePayload } from "../parse-payload.ts";

export type AiCost = z.output<typeof aiCostRecordedSchema>;

/**
 * The cost that an event of `outbox.ai-cost` records.
 * @throws CodedError `RECEIVER.PAYLOAD` when it is an event of another type, or the payload does not fit; never with its values
 */
export function aiCostFor(event: { eventId: string; type: string; payload: JsonValue }): AiCost {
  const { eventId, type } = event;
  if (type !== "ai.cost.recorded") {
    throw new CodedError("RECEIVER.PAYLOAD", `expected ai.cost.recorded, got ${type}`, { facts: { eventId, paths: ["type"] } });
  }
  return parsePayload(aiCostRecordedSchema, event);
}
