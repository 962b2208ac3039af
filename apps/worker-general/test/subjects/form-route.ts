import { randomUUID } from "node:crypto";
import type { Subject } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { deliver, type Installation } from "@toolctrl/consumer-testkit/installation";
import { loseKey } from "@toolctrl/consumer-testkit/unprotect";
import { createForm, submitForm, type RouteRuleInput } from "@toolctrl/domain/forms";
import type { JsonObject } from "@toolctrl/foundation/json";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { consumersOf, partOf } from "../app.ts";

const QUEUE = "outbox.form-submission-route";
const TYPE = "form.submission.received";
const ROUTES: RouteRuleInput[] = [
  { id: "lead", actions: [{ type: "lead", name: "name", email: "email" }] },
  {
    id: "tell",
    actions: [
      { type: "mail", to: { field: "email" }, subject: "Thank you, {{ data.name }}", text: "We have it." },
      { type: "webhook" },
      { type: "notification", recipientId: null, title: "{{ data.name }}" },
    ],
  },
];

/** An effect is all that the rules of a form ask for: the lead with its event, a mail, a webhook and a notification. */
export const formRoute: Subject = {
  name: "form-route",
  queue: QUEUE,
  app: () => partOf("form-route"),
  consumers: consumersOf,
  publish: sendForm,
  async add(installation, eventId, generation) {
    const { rows } = await installation.database.pool.query<{ payload: JsonObject }>(
      `SELECT "payload" FROM "OutboxEvent" WHERE "id" = $1`,
      [eventId],
    );
    await deliver(installation, { queue: QUEUE, type: TYPE, payload: rows[0]?.payload ?? {} }, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "FormSubmission",
  async effects({ database }, eventId) {
    const { rows } = await database.pool.query<{ n: number }>(
      `SELECT count(e."id")::int AS "n" FROM unnest($2::text[]) AS asked("type")
         LEFT JOIN "OutboxEvent" e ON e."eventType" = asked."type" AND e."causationId" = $1 GROUP BY asked."type"
       UNION ALL
       SELECT count(l."id")::int FROM "OutboxEvent" e JOIN "FormSubmission" s ON s."id"::text = e."payload" ->> 'recordId'
         LEFT JOIN "Lead" l ON l."name" = s."data" ->> 'name' WHERE e."id"::text = $1`,
      [eventId, ["record.lead.created", "mail.message.send", "webhook.form.submitted", "notification.message.create"]],
    );
    const counts = rows.map(({ n }) => n);
    // Half an effect is none.
    return counts.includes(0) ? 0 : Math.max(...counts);
  },
  /** Without its natural keys there is a lead, and an event of each kind, more with each delivery. */
  async removeProtection(installation) {
    await loseKey(installation, "Lead", "sourceKey");
    await loseKey(installation, "OutboxEvent", "dispatchKey");
  },
};

/** Makes a form and sends it; nobody else has the name that is written in it. @returns the id of the event, which nobody has handed off yet */
async function sendForm({ database, tenantId }: Installation): Promise<string> {
  const fields = [
    { name: "name", kind: "text" as const },
    { name: "email", kind: "email" as const },
  ];
  const data = { name: `Ann ${randomUUID()}`, email: "ann@example.com" };
  const { submission } = await database.prisma.$transaction(async (tx) => {
    const form = await createForm(tx, { tenantId, name: "Contact", fields, routes: ROUTES });
    return submitForm(tx, { tenantId, formId: form.id, data });
  });
  const { rows } = await database.pool.query<{ id: string }>(`SELECT "id" FROM "OutboxEvent" WHERE "recordKey" = $1`, [
    `submission/${submission.id}`,
  ]);
  return rows[0]?.id ?? "";
}
