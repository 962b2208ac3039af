/** Something that speaks against pull workers, or that nobody could tell, and what to do about it: a phrase each, for a person. */
export interface Reason {
  /** "expected X to be Y, got Z", or what is unknown and why. */
  readonly why: string;
  readonly fix: string;
}

/** `unknown` holds nothing back, but is said. */
export interface ConditionAnswer {
  readonly state: "green" | "red" | "unknown";
  /** None when green. */
  readonly reasons: readonly Reason[];
}

/** Something that must hold in a process before it may run pull workers. The consumer map's rollout gate has them; here they are a port. */
export interface StartCondition {
  readonly name: string;
  /** A rejection says that the question could not be asked. */
  check(): Promise<ConditionAnswer>;
}
