import { z } from "zod";
import { mailMessageSchema } from "../../events.ts";

// Templates here and in the mail's event have the same limits, as the one becomes the other.
const { to, replyTo, subject, text, html } = mailMessageSchema.shape;

/** A mail. Every text is a Liquid template. */
export const emailConfigSchema = z
  .strictObject({ to, replyTo, subject, text, html })
  .refine((mail) => mail.text !== undefined || mail.html !== undefined, {
    error: "expected a text or an html template, got neither",
    path: ["text"],
  });
