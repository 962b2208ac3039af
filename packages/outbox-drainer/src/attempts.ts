export { createAttempts, type Attempts, type AttemptSettings, type AttemptsDeps } from "./attempt/attempts.ts";
export type { Settled } from "./attempt/settled.ts";
