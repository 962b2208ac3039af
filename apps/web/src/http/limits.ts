import { MAX_PAYLOAD_BYTES } from "@toolctrl/foundation/json";

/** As much as a payload may have. */
export const MAX_BODY_BYTES = MAX_PAYLOAD_BYTES;
/** Longest time for a request to arrive, ms. */
export const REQUEST_MS = 30_000;
