import { createHash } from "node:crypto";
import { CodedError } from "@toolctrl/foundation/errors";

const QUEUE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;
const PREFIX = /^[A-Za-z0-9._:-]{0,40}\{[A-Za-z0-9][A-Za-z0-9._:-]{0,79}\}[A-Za-z0-9._:-]{0,40}$/;
const MAX_SCHEMA_LENGTH = 63;

/**
 * BullMQ builds its keys with colons and refuses them in queue names; it does so when the queue is built, which is too late.
 * @throws CodedError `QUEUE.NAME`
 */
export function assertQueueName(name: unknown): asserts name is string {
  if (typeof name === "string" && QUEUE_NAME.test(name)) return;
  const got = typeof name === "string" ? JSON.stringify(name.slice(0, 80)) : typeof name;
  throw new CodedError("QUEUE.NAME", `expected a queue name of letters, digits, dots and hyphens, without a colon, got ${got}`, {
    facts: { got },
  });
}

/**
 * A prefix holds exactly one hash tag, `{toolctrl}`: Redis Cluster then keeps all keys of a queue in one slot, which BullMQ's scripts
 * need. It is asked for on a single Redis too, since a prefix cannot be changed once jobs lie under it.
 * @throws CodedError `QUEUE.PREFIX`
 */
export function assertPrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix === "string" && PREFIX.test(prefix)) return;
  const got = typeof prefix === "string" ? JSON.stringify(prefix.slice(0, 80)) : typeof prefix;
  throw new CodedError("QUEUE.PREFIX", `expected the queue prefix to hold one hash tag, like {toolctrl}, got ${got}`, { facts: { got } });
}

/**
 * The PostgreSQL schema that stands for a prefix: there BullMQ knows no key prefix, its tables lie in a schema.
 * `{toolctrl}` becomes `bullmq_toolctrl`; where letters had to be replaced a hash keeps two prefixes apart.
 * @throws CodedError `QUEUE.PREFIX`
 */
export function postgresSchemaOf(prefix: string): string {
  assertPrefix(prefix);
  const inner = /^\{([a-z0-9_]+)\}$/.exec(prefix)?.[1];
  if (inner !== undefined && inner.length + 7 <= MAX_SCHEMA_LENGTH) return `bullmq_${inner}`;
  const hash = createHash("sha256").update(prefix).digest("hex").slice(0, 10);
  const readable = prefix
    .toLowerCase()
    .replaceAll(/[{}]/g, "")
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, 40);
  return `bullmq_${readable}_${hash}`;
}
