import { CodedError } from "@toolctrl/foundation/errors";
import { mailMessageSchema } from "@toolctrl/foundation/events";
import type { JsonValue } from "@toolctrl/foundation/json";
import { z } from "zod";
import { assertSingleLine, parseAddress } from "./parse-address.ts";
import { renderTemplate } from "./render-template.ts";

/** A mail as it will be sent: plain strings only, each address checked, the subject one line. */
export interface RenderedMail {
  readonly from: string;
  readonly replyTo: string | null;
  /** Each recipient once, in the order given. */
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string | null;
  readonly html: string | null;
}

/**
 * Renders a mail event's payload.
 * @throws CodedError `RECEIVER.PAYLOAD`, `MAIL.ADDRESS`, `MAIL.TEMPLATE`; none of them gets better by trying again.
 */
export function renderMail(payload: JsonValue, options: { defaultFrom: string }): RenderedMail {
  const parsed = mailMessageSchema.safeParse(payload);
  if (!parsed.success) {
    throw new CodedError("RECEIVER.PAYLOAD", `expected the payload to be a mail, got:\n${z.prettifyError(parsed.error)}`, {
      facts: { paths: parsed.error.issues.map((issue) => issue.path.join(".")) },
    });
  }
  const { to, from, replyTo, subject, text, html, data } = parsed.data;
  const recipients = (Array.isArray(to) ? to : [to]).map((address, index) => parseAddress(address, `to[${index}]`));
  return {
    from: parseAddress(from ?? options.defaultFrom, "from"),
    replyTo: replyTo === undefined ? null : parseAddress(replyTo, "replyTo"),
    to: [...new Set(recipients)],
    subject: assertSingleLine(renderTemplate(subject, data, { field: "subject", target: "text" }), "subject"),
    text: text === undefined ? null : renderTemplate(text, data, { field: "text", target: "text" }),
    html: html === undefined ? null : renderTemplate(html, data, { field: "html", target: "html" }),
  };
}
