import { CodedError } from "@toolctrl/foundation/errors";

/** What a key of the idempotency store stands for. */
export interface IdempotencyKeyParts {
  readonly prefix: string;
  readonly tenantId: string;
  readonly consumer: string;
  readonly eventId: string;
  readonly effectEpoch: number;
}

/** PostgreSQL refuses index entries above 2704 bytes; a key of honest parts is about 120. */
const MAX_KEY_BYTES = 1024;

/** Written, with a second's life, to see whether the server takes writes; in a cluster, the node that keeps the keys of the prefix. */
export function probeKey(prefix = "toolctrl"): string {
  return `${prefix}:probe:store`;
}

/**
 * The one producer of keys. Layout:
 *
 *     <prefix>:idem:<tenantId>:<consumer>:<eventId>:<effectEpoch>
 *
 * - `prefix` is taken as it is, so that it may carry a hash tag (`{toolctrl}`) and put all keys of an installation in one cluster slot.
 * - The other parts are escaped (`%`, `:`, braces, control characters and lone surrogates become `%XXXX`). As their number is fixed,
 *   no two tuples share a key, and no part can bring a hash tag of its own.
 *
 * @throws CodedError `STORE.ARGUMENT` for an empty part, an epoch that is not a whole number, or a key above 1 KiB.
 */
export function idempotencyKey({ prefix, tenantId, consumer, eventId, effectEpoch }: IdempotencyKeyParts): string {
  assertNotEmpty({ prefix, tenantId, consumer, eventId });
  if (!Number.isSafeInteger(effectEpoch) || effectEpoch < 0) {
    throw new CodedError("STORE.ARGUMENT", `expected effectEpoch to be a whole number from 0, got ${effectEpoch}`, {
      facts: { effectEpoch },
    });
  }
  const key = [prefix, "idem", escapePart(tenantId), escapePart(consumer), escapePart(eventId), String(effectEpoch)].join(":");
  const bytes = Buffer.byteLength(key, "utf8");
  if (bytes > MAX_KEY_BYTES) {
    throw new CodedError("STORE.ARGUMENT", `expected a key of at most ${MAX_KEY_BYTES} bytes, got ${bytes}`, { facts: { bytes } });
  }
  return key;
}

function assertNotEmpty(parts: Record<string, string>): void {
  for (const name in parts) {
    if (parts[name] !== "") continue;
    throw new CodedError("STORE.ARGUMENT", `expected ${name} to be a non-empty string, got an empty one`, { facts: { name } });
  }
}

const UNSAFE = /[%:{}\p{Cc}\p{Cs}]/u;
const EVERY_UNSAFE = new RegExp(UNSAFE, "gu");

function escapePart(part: string): string {
  if (!UNSAFE.test(part)) return part;
  return part.replaceAll(EVERY_UNSAFE, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`);
}
