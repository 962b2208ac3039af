/** The states of an event, in the order of its life. */
export const OUTBOX_STATUSES = ["PENDING", "PROCESSING", "DONE", "FAILED", "CANCELLED"] as const;
export type OutboxStatus = (typeof OUTBOX_STATUSES)[number];

/** Which events an operator means. Members that are absent do not restrict. */
export interface EventFilter {
  readonly statuses: readonly OutboxStatus[];
  /** Whole segments of the event type: `billing` and `billing.` match `billing.invoice.paid`, not `billings.x.y`. */
  readonly typePrefix?: string;
  readonly tenantId?: string;
  /** From this moment on. For DONE it is the hand-off that counts, for FAILED and CANCELLED the end, else the publishing. */
  readonly from?: Date;
  /** Before this moment. */
  readonly to?: Date;
}

/** The column that says when an event came into a state; each has an index for its state. */
export function timeColumnOf(status: OutboxStatus): `"${string}"` {
  if (status === "DONE") return `"processedAt"`;
  return status === "FAILED" || status === "CANCELLED" ? `"updatedAt"` : `"createdAt"`;
}

/** The WHERE of a filter for one state over `"OutboxEvent" e`, its values pushed onto `values`. */
export function whereOfFilter(filter: EventFilter, status: OutboxStatus, values: unknown[]): string {
  const bind = (value: unknown): string => `$${values.push(value)}`;
  // A literal, so that the partial index of the state is used under any plan.
  const tests = [`e."status" = '${status}'`];
  const column = timeColumnOf(status);
  if (filter.from !== undefined) tests.push(`e.${column} >= ${bind(filter.from)}::timestamptz`);
  if (filter.to !== undefined) tests.push(`e.${column} < ${bind(filter.to)}::timestamptz`);
  if (filter.tenantId !== undefined) tests.push(`e."tenantId" = ${bind(filter.tenantId)}`);
  if (filter.typePrefix !== undefined) {
    const prefix = bind(filter.typePrefix.replace(/\.+$/, ""));
    tests.push(`(e."eventType" = ${prefix} OR starts_with(e."eventType", ${prefix} || '.'))`);
  }
  return tests.join(" AND ");
}
