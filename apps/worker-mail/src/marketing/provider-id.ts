import type { CallAnswer } from "@toolctrl/consumer/external-call";
import { z } from "zod";

const answerSchema = z.object({ id: z.union([z.string().regex(/^[\x21-\x7e]{1,200}$/), z.number().int().transform(String)]) });

/** The provider's own id of a contact, where its answer is JSON with an `id`; an answer without one is as good. */
export function providerIdOf({ body }: Pick<CallAnswer, "body">): string | null {
  try {
    return answerSchema.parse(JSON.parse(body?.toString("utf8") ?? "")).id;
  } catch {
    // A provider that took the contact took it, whatever it says beside that.
    return null;
  }
}
