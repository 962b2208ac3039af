import { integer } from "@toolctrl/runtime/env";

/** The settings of a consumer's outside calls that are alike for every other side: how often, how soon, and how long one may ask to wait. */
export function callPolicyFields({ tries, peer }: { readonly tries: string; readonly peer: string }) {
  return {
    maxAttempts: integer({ min: 1, max: 20, fallback: 8, about: tries }),
    backoffMs: integer({
      min: 1,
      max: 60 * 60 * 1000,
      fallback: 5000,
      about: `Wait (ms) before the second try at ${peer}; doubles with each, up to an hour`,
    }),
    retryAfterMaxSeconds: integer({
      min: 0,
      max: 24 * 60 * 60,
      fallback: 3600,
      about: `Most (s) that ${peer}'s Retry-After can ask for`,
    }),
  };
}
