/**
 * - `ok`: holds. `warn`: works, and deserves a look.
 * - `fail`: broken, or will be. `unknown`: nobody may ask, or the answer did not come.
 */
export type CheckState = "ok" | "warn" | "fail" | "unknown";

/** What a check found. */
export interface Finding {
  readonly state: CheckState;
  /** "expected X to be Y, got Z"; of what is well, the facts. */
  readonly said: string;
  /** What to do about it; null when all is well. */
  readonly fix: string | null;
}

export interface CheckResult extends Finding {
  readonly name: string;
}

/** One question about an installation. */
export interface Check {
  readonly name: string;
  /** A rejection says that it could not be asked. */
  look(): Promise<Finding>;
}

export function ok(said: string): Finding {
  return { state: "ok", said, fix: null };
}

export function warn(said: string, fix: string): Finding {
  return { state: "warn", said, fix };
}

export function fail(said: string, fix: string): Finding {
  return { state: "fail", said, fix };
}

export function unknown(said: string, fix: string): Finding {
  return { state: "unknown", said, fix };
}
