import { randomUUID } from "node:crypto";
import { describeDuplicateDeliveries, type ConsumerUnderTest } from "@toolctrl/consumer-testkit/duplicate-deliveries";
import { deliver, envelopeOf, type Installation } from "@toolctrl/consumer-testkit/installation";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { startSmtpPeer, type SmtpPeer } from "@toolctrl/testkit/smtp";
import { beforeAll } from "vitest";
import { emailJobOf } from "../src/email-job.ts";
import { addEndpoint, appWith, consumersOf, MAIL, partOf, renderMail, WEBHOOK } from "./app.ts";

let smtp: SmtpPeer;
let http: HttpPeer;

beforeAll(async () => {
  [smtp, http] = await Promise.all([startSmtpPeer(), startHttpPeer()]);
});

/** A request to an endpoint or a mail must end well within a claim's life, which is short here. */
const app = () => appWith({ smtp, http }, { MAIL_SEND_DEADLINE_MS: "1000", WEBHOOK_DEADLINE_MS: "1000" });

const consumers = (installation: Installation) => consumersOf(installation, app());

const MAIL_RENDER: ConsumerUnderTest = {
  name: "mail-render",
  queue: "outbox.mail",
  app: () => partOf(app(), "mail-render"),
  consumers,
  publish: () => Promise.resolve(randomUUID()),
  async add(installation, eventId, generation) {
    await deliver(installation, MAIL, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "EmailMessage",
  async effects({ database }, eventId) {
    const { rowCount } = await database.pool.query(
      `SELECT 1 FROM "EmailMessage" JOIN "OutboxIntent" USING ("eventId", "effectEpoch") WHERE "eventId" = $1`,
      [eventId],
    );
    return rowCount ?? 0;
  },
};

const EMAIL_SEND: ConsumerUnderTest = {
  name: "email-send",
  queue: "toolctrl.email",
  app: () => partOf(app(), "email-send"),
  consumers,
  publish: (installation) => renderMail(installation, app()),
  async add(installation, eventId, generation) {
    const job = emailJobOf(envelopeOf(installation, MAIL, { eventId, generation }));
    await installation.backend.addAll([job]);
    return job.id;
  },
  table: "EmailMessage",
  effects: (_installation, eventId) => Promise.resolve(smtp.mails.filter(({ messageId }) => messageId.includes(eventId)).length),
};

const WEBHOOK_DELIVER: ConsumerUnderTest = {
  name: "webhook-deliver",
  queue: "outbox.webhook",
  app: () => partOf(app(), "webhook-deliver"),
  consumers,
  async publish(installation) {
    await addEndpoint(installation, http.port);
    return randomUUID();
  },
  async add(installation, eventId, generation) {
    await deliver(installation, WEBHOOK, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "WebhookEndpoint",
  effects: (_installation, eventId) => Promise.resolve(http.requests.filter(({ headers }) => headers["webhook-id"] === eventId).length),
};

describeDuplicateDeliveries([MAIL_RENDER, EMAIL_SEND, WEBHOOK_DELIVER]);
