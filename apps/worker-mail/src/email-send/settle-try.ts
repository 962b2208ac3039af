import { endIntent, intentLost, settleIntentUncalled, type Intent, type IntentEnd } from "@toolctrl/consumer/intents";
import { transaction } from "@toolctrl/db/client";
import { recordDeliveries, type RecipientOutcome, type StoredEmail } from "@toolctrl/domain/emails";
import { assertNever, CodedError } from "@toolctrl/foundation/errors";
import type { JobOutcome } from "@toolctrl/queue/port";
import type { EmailSendDeps } from "../email-send.ts";
import { EMAIL_SEND } from "../mail-render.ts";
import type { RecipientReply, SmtpOutcome } from "../smtp/smtp-outcome.ts";
import { describeRejections } from "./describe-rejections.ts";

/** One try at a mail. `begun` says whether the intent was moved to `sending`. */
export interface EmailTry {
  readonly email: StoredEmail;
  readonly intent: Intent;
  readonly token: string;
  readonly begun: boolean;
}

/** Writes how a try ended, for each recipient and for the intent, in one transaction, and says what the queue is to do. */
export async function settleTry(attempt: EmailTry, outcome: SmtpOutcome, deps: EmailSendDeps): Promise<JobOutcome> {
  const { email, intent, token } = attempt;
  if (outcome.kind === "unsent" && !attempt.begun) return { kind: "retry", error: unreachable(outcome.error) };
  const recipients = outcomesOf(outcome);
  const end = endOf(email, recipients, outcome);
  const ours = await transaction(deps.pool, async (tx) => {
    const fenced = await endIntent(tx, intent.id, token, end);
    // What the server accepted is true whoever holds the intent now; the rest is the other delivery's to say.
    await recordDeliveries(tx, email.id, fenced ? recipients : recipients.filter(({ state }) => state === "accepted"));
    return fenced;
  });
  if (end.state === "unknown") deps.metrics.add("outbox_outcome_unknown_total", 1, { consumer: EMAIL_SEND });
  if (!ours) throw intentLost(intent.id, "to be ours at the end of the try");
  return toJobOutcome(email, end);
}

/** Every recipient was settled by earlier tries, and the process ended before the intent was. */
export async function settleNothingLeft(email: StoredEmail, intent: Intent, deps: EmailSendDeps): Promise<JobOutcome> {
  const end = finalEnd(email, []);
  if (!(await settleIntentUncalled(deps.pool, intent.id, end))) throw intentLost(intent.id, "to be pending or unknown");
  return toJobOutcome(email, end);
}

function outcomesOf(outcome: SmtpOutcome): RecipientOutcome[] {
  const as =
    (state: RecipientOutcome["state"]) =>
    ({ recipient, code, reply }: RecipientReply): RecipientOutcome => ({ recipient, state, replyCode: code, reply });
  switch (outcome.kind) {
    case "unsent":
      return [];
    case "unknown":
      return [
        ...outcome.recipients.map((recipient): RecipientOutcome => ({ recipient, state: "unknown", replyCode: null, reply: null })),
        ...outcome.rejected.map(as("rejected")),
        ...outcome.deferred.map(as("pending")),
      ];
    case "answered":
      return [...outcome.accepted.map(as("accepted")), ...outcome.rejected.map(as("rejected")), ...outcome.deferred.map(as("pending"))];
    default:
      return assertNever(outcome);
  }
}

function endOf(email: StoredEmail, recipients: readonly RecipientOutcome[], outcome: SmtpOutcome): IntentEnd {
  if (outcome.kind === "unsent") return { state: "pending", error: unreachable(outcome.error) };
  if (outcome.kind === "unknown") {
    const error = new CodedError(
      "MAIL.OUTCOME_UNKNOWN",
      `expected the mail server to answer after the message, it did not (${outcome.recipients.length} recipient(s))`,
      {
        facts: { recipients: outcome.recipients.length },
        cause: outcome.error,
      },
    );
    return { state: "unknown", error };
  }
  if (outcome.deferred.length > 0) {
    const codes = [...new Set(outcome.deferred.map(({ code }) => code))];
    const error = new CodedError(
      "MAIL.DEFERRED",
      `expected the mail server to accept every recipient, got ${codes.map((code) => code ?? "no SMTP reply").join(", ")} for ${outcome.deferred.length}`,
      {
        facts: { codes, recipients: outcome.deferred.length },
      },
    );
    return { state: "pending", error };
  }
  return finalEnd(email, recipients);
}

/** Nobody is left to try: `sent` when everybody accepted, else `failed`. */
function finalEnd(email: StoredEmail, recipients: readonly RecipientOutcome[]): { state: "sent" } | { state: "failed"; error: CodedError } {
  const latest = new Map(recipients.map((outcome) => [outcome.recipient, outcome]));
  const all = email.deliveries.map((delivery) => latest.get(delivery.recipient) ?? { ...delivery, reply: null });
  const rejected = all.filter(({ state }) => state === "rejected");
  if (rejected.length === 0) return { state: "sent" };
  return {
    state: "failed",
    error: new CodedError(
      "MAIL.REJECTED",
      `expected every recipient to be accepted, got ${rejected.length} of ${all.length} refused: ${describeRejections(rejected)}`,
      {
        facts: { rejected: rejected.length, recipients: all.length, codes: [...new Set(rejected.map(({ replyCode }) => replyCode))] },
      },
    ),
  };
}

function toJobOutcome(email: StoredEmail, end: IntentEnd): JobOutcome {
  if (end.state === "sent") return { kind: "done", result: { messageId: email.messageId } };
  return { kind: end.state === "failed" ? "cancel" : "retry", error: end.error };
}

function unreachable(cause: Error): CodedError {
  return new CodedError("MAIL.UNREACHABLE", "expected the mail server to take the message, it did not get that far", { cause });
}
