/** Short enough for a test to wait for the recovery, long enough for a busy machine to renew in time. */
export const CRASH_TIMES = { lockMs: 1500, stalledCheckMs: 300, claimTtlMs: 1500, deadlineMs: 1000 };
export const SECRETS_KEY = Buffer.alloc(32, 7).toString("base64");
