import type { SMTPConnectionEnvelope } from "nodemailer/lib/smtp-connection";

/** What the server said: `code` is the three-digit reply, null where it was none that SMTP knows there. */
interface Reply {
  readonly code: number | null;
  readonly reply: string;
}

/** What the server said about one recipient. */
export interface RecipientReply extends Reply {
  readonly recipient: string;
}

/**
 * How one try ended.
 * - `answered`: every recipient has the server's word: accepted, rejected for good (5xx) or deferred (4xx, and what is no word at all).
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
  const { envelope } = transmission;
  const taken = recipients.filter((recipient) => envelope.accepted?.includes(recipient));
  const others = recipients.filter((recipient) => !taken.includes(recipient));
  if (transmission.kind === "answered") {
    const accepted = taken.map((recipient) => acceptanceOf(recipient, transmission.response));
    return { kind: "answered", accepted, ...sort(repliesTo(others, envelope)) };
  }
  const { error, bodyEnded } = transmission;
  const refusal = refusalIn(error);
  if (refusal !== null) {
    // To a server that takes commands ahead, RCPT and DATA have left before the sender is refused. It answers them that MAIL is missing,
    // for good even where the refusal is not: what it said to MAIL stands for everybody.
    const told = "command" in error && error.command === "MAIL FROM" ? {} : envelope;
    return { kind: "answered", accepted: [], ...sort(repliesTo(recipients, told, refusal)) };
  }
  if (!bodyEnded) return { kind: "unsent", error };
  return { kind: "unknown", error, recipients: taken, ...sort(repliesTo(others, envelope)) };
}

function sort(replies: readonly RecipientReply[]): { rejected: RecipientReply[]; deferred: RecipientReply[] } {
  const rejected = replies.filter(({ code }) => code !== null && code >= 500);
  return { rejected, deferred: replies.filter((reply) => !rejected.includes(reply)) };
}

/** What each was told at RCPT; `otherwise` to those who were accepted there, or told nothing. */
function repliesTo(
  recipients: readonly string[],
  { rejectedErrors = [] }: Partial<SMTPConnectionEnvelope>,
  otherwise: Reply = { code: null, reply: "" },
): RecipientReply[] {
  return recipients.map((recipient) => {
    const own = rejectedErrors.find((error) => "recipient" in error && error.recipient === recipient);
    return { recipient, ...(own === undefined ? otherwise : (refusalIn(own) ?? { code: null, reply: own.message })) };
  });
}

/** The server's refusal in an error of the library; null when the error is a lost connection, a time-out or our own. */
function refusalIn(error: Error): { code: number; reply: string } | null {
  if (!("responseCode" in error) || typeof error.responseCode !== "number") return null;
  if (error.responseCode < 400 || error.responseCode > 599) return null;
  return { code: error.responseCode, reply: "response" in error && typeof error.response === "string" ? error.response : error.message };
}

function acceptanceOf(recipient: string, response: string): RecipientReply {
  // Some servers answer 2xx with odd texts; that the library took it as accepted is what counts.
  const code = Number(/^2\d\d/.exec(response)?.[0] ?? 250);
  return { recipient, code, reply: response };
}
