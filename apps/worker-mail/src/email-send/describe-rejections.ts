import type { RecipientOutcome } from "@toolctrl/domain/emails";
import { storableText } from "@toolctrl/foundation/text";

const MAX_LISTED = 10;

/**
 * Refusals for an error message, which goes into logs and receipts: who is recognisable to somebody with the mail's row at hand, no more.
 */
export function describeRejections(rejected: ReadonlyArray<Pick<RecipientOutcome, "recipient" | "replyCode" | "reply">>): string {
  const lines = rejected.slice(0, MAX_LISTED).map(({ recipient, replyCode, reply }) => {
    const masked = maskAddress(recipient);
    const said = reply?.replaceAll(recipient, masked).replaceAll(/\s+/g, " ") ?? String(replyCode ?? "refused earlier");
    const text = storableText(said, 120);
    return `${masked} (${text})`;
  });
  if (rejected.length > MAX_LISTED) lines.push(`and ${rejected.length - MAX_LISTED} more`);
  return lines.join("; ");
}

function maskAddress(address: string): string {
  return `${address.slice(0, 1)}…${address.slice(address.lastIndexOf("@"))}`;
}
