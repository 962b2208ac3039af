import { z } from "zod";
import { isApplicationEventType } from "../event-type.ts";
import { inputFieldsSchema } from "./input-fields.ts";
import { unknownKind } from "./suggest.ts";
import { celSchema, tableSchema } from "./texts.ts";
import { uniqueBy } from "./unique.ts";

export const TRIGGER_TYPES = ["manual", "row", "form", "event"] as const;
export const ROW_TRIGGER_CHANGES = ["created", "updated", "deleted"] as const;

const eventTypeOrPrefix = z.string().refine(isEventTypeOrPrefix, {
  error: "expected the type of an application event like invoice.paid, or the beginning of one that ends in a dot, like invoice.",
});

/** What starts a workflow. */
export const triggerSchema = z.discriminatedUnion(
  "type",
  [
    z.strictObject({
      type: z.literal("manual"),
      /** What whoever starts it is asked for. */
      input: inputFieldsSchema.optional(),
    }),
    z.strictObject({
      type: z.literal("row"),
      table: tableSchema,
      on: z
        .array(z.enum(ROW_TRIGGER_CHANGES))
        .min(1)
        .superRefine(uniqueBy((change) => change, "change")),
      condition: celSchema.optional(),
    }),
    z.strictObject({ type: z.literal("form"), formId: z.uuid() }),
    z.strictObject({
      type: z.literal("event"),
      /** A whole event type, or a prefix that ends in a dot. */
      eventType: eventTypeOrPrefix,
      condition: celSchema.optional(),
    }),
  ],
  { error: unknownKind("type", TRIGGER_TYPES, "trigger") },
);

export type WorkflowTrigger = z.output<typeof triggerSchema>;

function isEventTypeOrPrefix(text: string): boolean {
  // A prefix is what becomes a type when another segment follows.
  return isApplicationEventType(text.endsWith(".") ? `${text}a` : text);
}
