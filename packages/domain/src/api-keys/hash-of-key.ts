import { createHash } from "node:crypto";

/** What is kept of a key. It is 256 random bits, so that a hash without salt tells nothing of it and finds it by an index. */
export function hashOfKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}
