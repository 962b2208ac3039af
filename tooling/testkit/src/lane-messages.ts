/** What a test tells the process that hosts its lanes. */
export type ToLaneHost =
  | { readonly kind: "open"; readonly lane: number; readonly plan: LanePlan }
  | { readonly kind: "arm"; readonly lane: number }
  | { readonly kind: "close"; readonly lane: number };

/** What the host answers. */
export type FromLaneHost =
  | { readonly kind: "ready" }
  | { readonly kind: "opened"; readonly lane: number }
  | { readonly kind: "armed"; readonly lane: number }
  /** What it had to do when it was told to go is done. */
  | { readonly kind: "worked"; readonly lane: number }
  /** Closed, as a program is that is told to stop. */
  | { readonly kind: "closed"; readonly lane: number; readonly calls: readonly string[] }
  /** Cut off after the last of its calls. */
  | { readonly kind: "crashed"; readonly lane: number; readonly calls: readonly string[] }
  /** `lane` is null where nobody knows whose fault it is. */
  | { readonly kind: "failed"; readonly lane: number | null; readonly error: string };

export interface LanePlan {
  /** The environment of what runs in the lane. */
  readonly env: Readonly<Record<string, string>>;
  /** The ports whose connections count, with a label each. */
  readonly ports: Readonly<Record<number, string>>;
  /** Sources of the patterns of calls that are not counted. */
  readonly ignore: readonly string[];
  /** Nothing leaves the lane after this call, counted from 1. Without it the calls are only counted. */
  readonly afterCall?: number;
}
