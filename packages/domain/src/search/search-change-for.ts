import { CodedError } from "@toolctrl/foundation/errors";
import { searchDeleteSchema, searchUpsertSchema } from "@toolctrl/foundation/events";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { z } from "zod";
import { parsePayload } from "../parse-payload.ts";

/** What an event does to the document of a record. */
export type SearchChange =
  | ({ readonly kind: "upsert" } & z.output<typeof searchUpsertSchema>)
  | ({ readonly kind: "delete" } & z.output<typeof searchDeleteSchema>);

/**
 * The change that an event of `outbox.search-index` asks for.
 * @throws CodedError `RECEIVER.PAYLOAD` when the type is neither of the two, or the payload does not fit; never with its values
 */
export function searchChangeFor(event: { eventId: string; type: string; payload: JsonValue }): SearchChange {
  switch (event.type) {
    case "search.index.upsert":
      return { kind: "upsert", ...parsePayload(searchUpsertSchema, event) };
    case "search.index.delete":
      return { kind: "delete", ...parsePayload(searchDeleteSchema, event) };
    default:
      throw new CodedError("RECEIVER.PAYLOAD", `expected search.index.upsert or search.index.delete, got ${event.type}`, {
        facts: { eventId: event.eventId, paths: ["type"] },
      });
  }
}
