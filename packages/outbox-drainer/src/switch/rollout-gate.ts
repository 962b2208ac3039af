/** Says whether every consumer's path may be drained by pull workers. Red keeps the batch dispatcher, and names each reason. */
export interface RolloutGate {
  check(): Promise<{ readonly green: boolean; readonly reasons: readonly string[] }>;
}

/** The gate until there is one that looks: always red. */
export function createClosedGate(): RolloutGate {
  return { check: () => Promise.resolve({ green: false, reasons: ["no rollout gate yet"] }) };
}
