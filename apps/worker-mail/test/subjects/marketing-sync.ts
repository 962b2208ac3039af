import { randomUUID } from "node:crypto";
import { deliver, type Installation } from "@toolctrl/consumer-testkit/installation";
import type { Subject } from "@toolctrl/consumer-testkit/subject";
import { forgetIntents } from "@toolctrl/consumer-testkit/unprotect";
import { jobIdFor } from "@toolctrl/queue/job-id";
import { expect } from "vitest";
import { consumersOf, MARKETING, partOf } from "../app.ts";
import { app, http } from "./peers.ts";

const requestsOf = (eventId: string) => http.requests.filter(({ headers }) => String(headers["idempotency-key"]).includes(eventId));
const keysOf = (eventId: string): string[] => requestsOf(eventId).map(({ headers }) => String(headers["idempotency-key"]));

/** An effect is a call in which the provider is told of the contact. */
export const marketingSync: Subject = {
  name: "marketing-sync",
  queue: MARKETING.queue,
  app: (claimTtlMs) => partOf(app(claimTtlMs), "marketing-sync"),
  consumers: (installation) => consumersOf(installation, app(installation.claimTtlMs)),
  publish: () => Promise.resolve(randomUUID()),
  async add(installation, eventId, generation) {
    await deliver(installation, MARKETING, { eventId, generation });
    return jobIdFor(eventId, generation);
  },
  table: "MarketingContact",
  effects: (_installation, eventId) => Promise.resolve(requestsOf(eventId).length),
  calls: (_installation, eventId) => Promise.resolve(keysOf(eventId)),
  peers: () => ({ http }),
  async check({ database, tenantId }, eventId) {
    const requests = requestsOf(eventId);
    expect(new Set(requests.map(({ path, text }) => `${path} ${text}`)).size, "a repeat has the same body").toBe(1);
    expect(keysOf(eventId)[0]).toBe(eventId);
    const { rows } = await database.pool.query(
      `SELECT "name", "consent", "revision"::int AS "revision", "owedBy", "toldStatus", "toldAt" IS NOT NULL AS "told" FROM "MarketingContact" WHERE "tenantId" = $1`,
      [tenantId],
    );
    expect(rows).toEqual([{ name: "Ann", consent: "granted", revision: 1, owedBy: null, toldStatus: "subscribed", told: true }]);
  },
  removeProtection: forgetWhatWasTold,
};

/** An event that has told of the contact owes nothing more, and its intent is settled. */
function forgetWhatWasTold(installation: Installation): Promise<void> {
  return forgetIntents(installation, "marketing-sync", `UPDATE "MarketingContact" SET "owedBy" = NEW."eventId";`);
}
