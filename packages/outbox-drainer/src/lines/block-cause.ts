/**
 * Why the events behind the head of a line wait: it failed for good and its route parks; its route is held; it failed and waits for its
 * next try; it is claimed.
 */
export const BLOCK_CAUSES = ["parked", "held", "backoff", "in-flight"] as const;
export type BlockCause = (typeof BLOCK_CAUSES)[number];
