import { envelopeOf } from "@toolctrl/consumer-testkit/installation";
import type { Subject } from "@toolctrl/consumer-testkit/subject";
import { forgetIntents } from "@toolctrl/consumer-testkit/unprotect";
import { expect } from "vitest";
import { emailJobOf } from "../../src/email-job.ts";
import { consumersOf, MAIL, partOf, renderMail } from "../app.ts";
import { app, smtp } from "./peers.ts";

const mailsOf = (eventId: string) => smtp.mails.filter(({ messageId }) => messageId.includes(eventId));

/** An effect is a mail that the server took. */
export const emailSend: Subject = {
  name: "email-send",
  queue: "toolctrl.email",
  app: (claimTtlMs) => partOf(app(claimTtlMs), "email-send"),
  consumers: (installation) => consumersOf(installation, app(installation.claimTtlMs)),
  publish: (installation) => renderMail(installation, app(installation.claimTtlMs)),
  async add(installation, eventId, generation) {
    const job = emailJobOf(envelopeOf(installation, MAIL, { eventId, generation }));
    await installation.backend.addAll([job]);
    return job.id;
  },
  table: "EmailMessage",
  effects: (_installation, eventId) => Promise.resolve(mailsOf(eventId).length),
  calls: (_installation, eventId) => Promise.resolve(mailsOf(eventId).map(({ messageId }) => messageId)),
  peers: () => ({ smtp }),
  async check({ database }, eventId) {
    const mails = mailsOf(eventId);
    expect(new Set(mails.map(({ to, raw }) => `${to.join()} ${raw}`)).size, "a repeat is the same mail").toBe(1);
    expect(mails[0]).toMatchObject({ messageId: `<${eventId}.0@toolctrl.test>`, to: ["ann@example.test", "bob@example.test"] });
    const { rows } = await database.pool.query(
      `SELECT array_agg(d."state" ORDER BY "recipient") AS "recipients", i."state", i."attempts" = 1 + i."unknowns" AS "counted"
       FROM "EmailMessage" m JOIN "EmailDelivery" d ON d."messageId" = m."id" JOIN "OutboxIntent" i USING ("eventId", "effectEpoch")
       WHERE "eventId" = $1 GROUP BY i."id"`,
      [eventId],
    );
    expect(rows).toEqual([{ recipients: ["accepted", "accepted"], state: "sent", counted: true }]);
  },
  /** A mail that is settled is not sent again, whoever asks. */
  removeProtection: (installation) =>
    forgetIntents(
      installation,
      "email-send",
      `UPDATE "EmailDelivery" d SET "state" = 'pending' FROM "EmailMessage" m WHERE m."id" = d."messageId" AND m."eventId" = NEW."eventId";`,
    ),
};
