import type { Queryable } from "@toolctrl/db/sql";
import { CodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";
import type { CapabilityKey } from "./set-capability-quota.ts";

/** What a plugin has used of a capability in a month. */
export interface CapabilityUsage {
  /** `2026-12`, in UTC. */
  readonly period: string;
  readonly used: bigint;
  /** What it may use in a month; null where there is no limit. */
  readonly perMonth: bigint | null;
}

const usageRow = z.object({ period: z.string(), used: z.coerce.bigint(), perMonth: z.coerce.bigint().nullable() });

const READ = `WITH month AS (SELECT COALESCE($4::text, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM')) AS "period")
SELECT month."period", COALESCE(u."used", 0)::text AS "used", q."perMonth"::text AS "perMonth"
  FROM month
  LEFT JOIN "PluginUsage" u ON u."tenantId" = $1 AND u."pluginId" = $2 AND u."capability" = $3 AND u."period" = month."period"
  LEFT JOIN "PluginQuota" q ON q."tenantId" = $1 AND q."pluginId" = $2 AND q."capability" = $3`;

/**
 * What has been counted so far, in the present month by the database's clock, or in `period`. Uses that were published and not delivered yet
 * are not in it. Indexes: the two primary keys.
 * @throws CodedError `PLUGIN.ARGUMENT` for a period that is not `YYYY-MM`
 */
export async function readCapabilityUsage(db: Queryable, query: CapabilityKey & { readonly period?: string }): Promise<CapabilityUsage> {
  const { tenantId, pluginId, capability, period = null } = query;
  if (period !== null && !/^\d{4}-(0[1-9]|1[0-2])$/.test(period)) {
    throw new CodedError("PLUGIN.ARGUMENT", `expected period to be YYYY-MM, got ${JSON.stringify(period.slice(0, 20))}`, {
      facts: { argument: "period" },
    });
  }
  const { rows } = await db.query(READ, [tenantId, pluginId, capability, period]);
  return usageRow.parse(rows[0]);
}

/**
 * Whether a plugin may use that much more of a capability this month. It is a look, not a reservation: uses that ask at the same time may go
 * beyond the quota together, by what is under way.
 */
export async function mayUseCapability(db: Queryable, use: CapabilityKey & { readonly amount?: bigint }): Promise<boolean> {
  const { used, perMonth } = await readCapabilityUsage(db, use);
  return perMonth === null || used + (use.amount ?? 1n) <= perMonth;
}
