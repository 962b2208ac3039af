import { CodedError } from "@toolctrl/foundation/errors";
import { pluginHookSchema } from "@toolctrl/foundation/events";
import type { JsonObject, JsonValue } from "@toolctrl/foundation/json";

/** @throws CodedError `RECEIVER.PAYLOAD` for a payload that is no object */
export function hookPayload(payload: JsonValue): JsonObject {
  const parsed = pluginHookSchema.safeParse(payload);
  if (parsed.success) return parsed.data;
  const got = Array.isArray(payload) ? "an array" : payload === null ? "null" : typeof payload;
  throw new CodedError("RECEIVER.PAYLOAD", `expected the payload of a hook to be a JSON object, got ${got}`);
}
