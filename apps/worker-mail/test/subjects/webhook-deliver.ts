import { randomUUID } from "node:crypto";
import { deliver } from "@toolctrl/consumer-testkit/installation";
import type { Subject } from "@toolctrl/consumer-testkit/subject";
import { forgetIntents } from "@toolctrl/consumer-testkit/unprotect";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { expect } from "vitest";
import { addEndpoint, consumersOf, partOf, WEBHOOK } from "../app.ts";
import { app, http } from "./peers.ts";

const requestsOf = (eventId: string) => http.requests.filter(({ headers }) => String(headers["webhook-id"]).includes(eventId));

/** An effect is a request that the endpoint took. */
export const webhookDeliver: Subject = {
  name: "webhook-deliver",
  queue: WEBHOOK.queue,
  app: (claimTtlMs) => partOf(app(claimTtlMs), "webhook-deliver"),
  consumers: (installation) => consumersOf(installation, app(installation.claimTtlMs)),
  async publish(installation) {
    await addEndpoint(installation, http.port);
    return randomUUID();
  },
  async add(installation, eventId, generation) {
    await deliver(installation, WEBHOOK, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "WebhookEndpoint",
  effects: (_installation, eventId) => Promise.resolve(requestsOf(eventId).length),
  calls: (_installation, eventId) => Promise.resolve(requestsOf(eventId).map(({ headers }) => String(headers["webhook-id"]))),
  peers: () => ({ http }),
  async check({ database }, eventId) {
    const requests = requestsOf(eventId);
    expect(new Set(requests.map(({ path, text }) => `${path} ${text}`)).size, "a repeat has the same body").toBe(1);
    expect(requests[0]?.headers["webhook-id"]).toBe(eventId);
    const { rows } = await database.pool.query(
      `SELECT "state", "attempts" = 1 + "unknowns" AS "counted" FROM "OutboxIntent" WHERE "eventId" = $1`,
      [eventId],
    );
    expect(rows).toEqual([{ state: "sent", counted: true }]);
  },
  /** An endpoint that is settled is not called again, whoever asks. */
  removeProtection: (installation) => forgetIntents(installation, "webhook-deliver"),
};
