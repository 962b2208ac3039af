import { createHash } from "node:crypto";
import type { StoredEmail } from "@toolctrl/domain/emails";
import MailComposer from "nodemailer/lib/mail-composer";

/**
 * The message as bytes; the same mail always gives the same bytes, so that a repeat is a repeat.
 *
 * Only strings and address objects go in: the library would read files for other bodies and split comma lists of plain address strings.
 */
export async function composeMail(mail: StoredEmail): Promise<Buffer> {
  const composer = new MailComposer({
    messageId: `<${mail.messageId}>`,
    date: mail.createdAt,
    from: addressOf(mail.from),
    to: mail.deliveries.map(({ recipient }) => addressOf(recipient)),
    ...(mail.replyTo === null ? {} : { replyTo: addressOf(mail.replyTo) }),
    subject: mail.subject,
    ...(mail.text === null ? {} : { text: mail.text }),
    ...(mail.html === null ? {} : { html: mail.html }),
    baseBoundary: createHash("sha256").update(mail.messageId).digest("hex").slice(0, 32),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

function addressOf(address: string): { name: string; address: string } {
  return { name: "", address };
}
