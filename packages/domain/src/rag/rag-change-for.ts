import { CodedError } from "@toolctrl/foundation/errors";
import { ragDeleteSchema, ragUpsertSchema } from "@toolctrl/foundation/events";
import type { JsonValue } from "@toolctrl/foundation/json";
import { listSchemaProblems, problemLines } from "@toolctrl/foundation/schema-problems";
import type { z } from "zod";

export type RagUpsert = z.output<typeof ragUpsertSchema>;
export type RagDelete = z.output<typeof ragDeleteSchema>;
export type RagChange = ({ readonly kind: "upsert" } & RagUpsert) | ({ readonly kind: "delete" } & RagDelete);

/**
 * What an event of `rag.index.` asks for.
 * @throws CodedError `RECEIVER.PAYLOAD` for a payload that does not fit, with its paths and without its values, and for another type
 */
export function ragChangeFor(event: { eventId: string; type: string; payload: JsonValue }): RagChange {
  switch (event.type) {
    case "rag.index.upsert":
      return { kind: "upsert", ...parse(ragUpsertSchema, event) };
    case "rag.index.delete":
      return { kind: "delete", ...parse(ragDeleteSchema, event) };
    default:
      throw new CodedError("RECEIVER.PAYLOAD", `expected rag.index.upsert or rag.index.delete, got ${event.type}`, {
        facts: { eventId: event.eventId, type: event.type },
      });
  }
}

function parse<T extends z.ZodType>(schema: T, event: { eventId: string; type: string; payload: JsonValue }): z.output<T> {
  const parsed = schema.safeParse(event.payload);
  if (parsed.success) return parsed.data;
  const problems = listSchemaProblems(parsed.error);
  const lines = problemLines(problems, "payload");
  throw new CodedError("RECEIVER.PAYLOAD", `expected the payload of ${event.type} to fit its schema, got:\n${lines}`, {
    facts: { eventId: event.eventId, paths: problems.map(({ path }) => path) },
  });
}
