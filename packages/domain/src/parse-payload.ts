import { CodedError } from "@toolctrl/foundation/errors";
import type { JsonValue } from "@toolctrl/foundation/json";
import { listSchemaProblems } from "@toolctrl/foundation/schema-problems";
import type { z } from "zod";

/**
 * What a consumer's event carries.
 * @throws CodedError `RECEIVER.PAYLOAD` naming each path, never the values: they may be personal
 */
export function parsePayload<Schema extends z.ZodType>(
  schema: Schema,
  { eventId, type, payload }: { eventId: string; type: string; payload: JsonValue },
): z.output<Schema> {
  const parsed = schema.safeParse(payload);
  if (parsed.success) return parsed.data;
  const paths = listSchemaProblems(parsed.error).map(({ path }) => path);
  throw new CodedError("RECEIVER.PAYLOAD", `expected the payload of ${type} to fit its schema, got others at: ${paths.join(", ")}`, {
    facts: { eventId, paths },
  });
}
