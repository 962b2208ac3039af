export { createHoldOf, describeHold, NOTHING_HELD, type HeldBy, type Hold } from "./held/hold.ts";
export { createHeldRelease, type HeldRelease, type HeldReleaseDeps } from "./held/held-release.ts";
