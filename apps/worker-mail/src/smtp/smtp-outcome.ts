import type { SMTPConnectionEnvelope } from "nodemailer/lib/smtp-connection";

/** What the server said about one recipient. `code` is the three-digit reply. */
export interface RecipientReply {
  readonly recipient: string;
  readonly code: number;
  readonly reply: string;
}

/**
 * How one try ended.
 * - `answered`: every recipient has the server's word: accepted, rejected for good (5xx) or deferred (4xx).
 * - `unsent`: the message was not handed over; nobody got it.
 * - `unknown`: the whole message was handed over, the answer never came; `recipients` may have it.
 */
export type SmtpOutcome =
  | {
      readonly kind: "answered";
      readonly accepted: RecipientReply[];
      readonly rejected: RecipientReply[];
      readonly deferred: RecipientReply[];
    }
  | { readonly kind: "unsent"; readonly error: Error }
  | {
      readonly kind: "unknown";
      readonly error: Error;
      readonly recipients: string[];
      readonly rejected: RecipientReply[];
      readonly deferred: RecipientReply[];
    };

export type Transmission =
  | { readonly kind: "answered"; readonly response: string; readonly envelope: Partial<SMTPConnectionEnvelope> }
  | { readonly kind: "failed"; readonly error: Error; readonly envelope: Partial<SMTPConnectionEnvelope>; readonly bodyEnded: boolean };

/** Turns the end of a transmission into each recipient's outcome. */
export function toOutcome(transmission: Transmission, recipients: readonly string[]): SmtpOutcome {
  const { refused, others } = splitRecipients(transmission.envelope, recipients);
  if (transmission.kind === "answered")
    return answered(
      refused,
      others.map((recipient) => replyOf(recipient, transmission.response)),
    );
  const { error, bodyEnded } = transmission;
  const reply = replyOfError(error);
  // A reply to MAIL FROM, to the last RCPT, or to DATA: it stands for all who had none of their own.
  if (reply !== null)
    return answered(
      refused,
      others.map((recipient) => ({ ...reply, recipient })),
    );
  if (!bodyEnded) return { kind: "unsent", error };
  const { rejected, deferred } = sort(refused);
  return { kind: "unknown", error, recipients: others, rejected, deferred };
}

function answered(refused: RecipientReply[], others: RecipientReply[]): SmtpOutcome {
  const { accepted, rejected, deferred } = sort([...refused, ...others]);
  return { kind: "answered", accepted, rejected, deferred };
}

function sort(replies: readonly RecipientReply[]): { accepted: RecipientReply[]; rejected: RecipientReply[]; deferred: RecipientReply[] } {
  return {
    accepted: replies.filter(({ code }) => code < 400),
    rejected: replies.filter(({ code }) => code >= 500),
    deferred: replies.filter(({ code }) => code >= 400 && code < 500),
  };
}

/** Who was refused at RCPT with a reply of their own, and everybody else. */
function splitRecipients(
  envelope: Partial<SMTPConnectionEnvelope>,
  recipients: readonly string[],
): { refused: RecipientReply[]; others: string[] } {
  const refused: RecipientReply[] = [];
  for (const error of envelope.rejectedErrors ?? []) {
    const recipient = "recipient" in error && typeof error.recipient === "string" ? error.recipient : "";
    const reply = replyOfError(error);
    if (recipients.includes(recipient) && reply !== null) refused.push({ ...reply, recipient });
  }
  const names = new Set(refused.map(({ recipient }) => recipient));
  return { refused, others: recipients.filter((recipient) => !names.has(recipient)) };
}

/** The server's refusal in an error of the library; null when the error is a lost connection, a time-out or our own. */
function replyOfError(error: Error): { code: number; reply: string } | null {
  if (!("responseCode" in error) || typeof error.responseCode !== "number") return null;
  if (error.responseCode < 400 || error.responseCode > 599) return null;
  return { code: error.responseCode, reply: "response" in error && typeof error.response === "string" ? error.response : error.message };
}

function replyOf(recipient: string, response: string): RecipientReply {
  // Some servers answer 2xx with odd texts; that the library took it as accepted is what counts.
  const code = Number(/^2\d\d/.exec(response)?.[0] ?? 250);
  return { recipient, code, reply: response };
}
