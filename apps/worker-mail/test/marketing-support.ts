import { jobIdFor } from "@toolctrl/queue/job-id";
import type { NewJob } from "@toolctrl/queue/port";
import { startHttpPeer, type HttpPeer, type ReceivedRequest } from "@toolctrl/testkit/http-peer";
import { waitFor } from "@toolctrl/testkit/wait";
import { createHarness, TENANT, type Harness } from "./harness.ts";

export const MARKETING = "marketing-sync";
export const EMAIL = "ann@example.test";
export const GRANTED = { consent: "granted", consentSource: "signup form" } as const;
export const upsertOf = (fields: Record<string, string | number | Record<string, string | number>> = {}) => ({ email: EMAIL, ...fields });

export interface ContactRow {
  readonly id: string;
  readonly email: string;
  readonly name: string | null;
  readonly attributes: Record<string, unknown>;
  readonly consent: string;
  readonly consentSource: string | null;
  readonly owedBy: string | null;
  readonly toldStatus: string | null;
  readonly told: boolean;
  readonly providerId: string | null;
}

export async function startMarketing(
  overrides: Parameters<Harness["marketingSync"]>[1] = {},
  options: Parameters<typeof createHarness>[0] = {},
): Promise<{ harness: Harness; peer: HttpPeer }> {
  const harness = await createHarness(options);
  const peer = await startHttpPeer();
  harness.start(harness.marketingSync(peer.port, overrides));
  return { harness, peer };
}

/** The row of an address; fails where there is none. */
export async function contactOf({ database }: Harness, emailKey = EMAIL, tenantId = TENANT): Promise<ContactRow> {
  const { rows } = await database.pool.query<ContactRow>(
    `SELECT "id", "email", "name", "attributes", "consent", "consentSource", "owedBy", "toldStatus", "toldAt" IS NOT NULL AS "told", "providerId"
     FROM "MarketingContact" WHERE "tenantId" = $1 AND "emailKey" = $2`,
    [tenantId, emailKey],
  );
  if (rows[0] === undefined) throw new Error(`expected a contact of ${emailKey}, got none`);
  return rows[0];
}

export interface Told {
  readonly key: string;
  readonly status: string;
  readonly revision: number;
  readonly name: string | null;
}

/** What a request told the provider. */
export function toldOf({ headers, text }: ReceivedRequest): Told {
  const { status, revision, name } = JSON.parse(text) as Omit<Told, "key" | "name"> & { name?: string | null };
  return { key: String(headers["idempotency-key"]), status, revision, name: name ?? null };
}

/** Waits until an event's job waits for its time, with nothing counted against it. */
export function untilDelayed({ backend }: Harness, count = 1): Promise<unknown> {
  return waitFor(async () => (await backend.counts("outbox.marketing")).delayed === count, { what: `${count} delayed jobs` });
}

/** Takes the jobs of events out of the queue, so that a test can add them as it wants. */
export async function takeJobs(harness: Harness, ids: readonly string[]): Promise<NewJob[]> {
  const jobs = [];
  for (const id of ids) {
    const data = await harness.copyJob("outbox.marketing", jobIdFor(id), jobIdFor(id, 9));
    jobs.push({ queue: "outbox.marketing" as const, id: jobIdFor(id), name: data.type, data });
  }
  await harness.backend.obliterate("outbox.marketing");
  return jobs;
}

/** A reply that is given when the test says so. */
export function heldReply(): { readonly reply: Promise<{ status: number }>; release(status?: number): void } {
  const { promise, resolve } = Promise.withResolvers<{ status: number }>();
  return { reply: promise, release: (status = 200) => resolve({ status }) };
}
