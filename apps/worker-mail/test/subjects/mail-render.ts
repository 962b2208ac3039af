import { randomUUID } from "node:crypto";
import { deliver, envelopeOf } from "@toolctrl/consumer-testkit/installation";
import type { Subject } from "@toolctrl/consumer-testkit/subject";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { expect } from "vitest";
import { emailJobOf } from "../../src/email-job.ts";
import { consumersOf, MAIL, partOf } from "../app.ts";
import { app } from "./peers.ts";

/** An effect is a stored mail. It must have been handed on too, with its recipients and its intent. */
export const mailRender: Subject = {
  name: "mail-render",
  queue: MAIL.queue,
  app: (claimTtlMs) => partOf(app(claimTtlMs), "mail-render"),
  consumers: (installation) => consumersOf(installation, app(installation.claimTtlMs)),
  publish: () => Promise.resolve(randomUUID()),
  async add(installation, eventId, generation) {
    await deliver(installation, MAIL, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "EmailMessage",
  async effects({ database }, eventId) {
    return (await database.pool.query(`SELECT 1 FROM "EmailMessage" WHERE "eventId" = $1`, [eventId])).rowCount ?? 0;
  },
  async check(installation, eventId) {
    const { rows } = await installation.database.pool.query(
      `SELECT "recipient", d."state", i."state" AS "intent", i."externalId" = m."messageId" AS "sameId"
       FROM "EmailMessage" m JOIN "EmailDelivery" d ON d."messageId" = m."id" JOIN "OutboxIntent" i USING ("eventId", "effectEpoch")
       WHERE "eventId" = $1 ORDER BY "recipient"`,
      [eventId],
    );
    const pending = { state: "pending", intent: "pending", sameId: true };
    expect(rows).toEqual(["ann@example.test", "bob@example.test"].map((recipient) => ({ recipient, ...pending })));
    const handedOn = emailJobOf(envelopeOf(installation, MAIL, { eventId }));
    expect(await installation.backend.find("toolctrl.email", handedOn.id)).toMatchObject({ state: "waiting" });
  },
  /** Without its key a mail is stored with each delivery. */
  removeProtection: (installation) => loseKey(installation, "EmailMessage", "effectEpoch"),
};
