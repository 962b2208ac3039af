/** The pull worker's claim alone, for those who measure it. */
export { CLAIM_HEAD_SQL, claimHead, type HeadClaim, type HeadCursor, type HeadRequest } from "./pull/claim-head.ts";
export { createHeadClaimer, type HeadClaimer } from "./pull/head-claimer.ts";
