import type { DrainerMode } from "../sql/read-mode.ts";

/** A live process that drains, as it is registered. */
export interface Voter {
  readonly app: string;
  readonly host: string;
  readonly pid: number;
  readonly vote: "false" | "shadow" | "true";
  /** Why it may not run pull workers; null until it has said. */
  readonly blockers: readonly string[] | null;
}

export interface Decision {
  readonly desired: DrainerMode["mode"];
  /** Why the mode is not to be `pull`: each reason with the processes that give it. Empty when it is. */
  readonly reasons: readonly string[];
}

/**
 * Which drainer the live processes ask for: `pull` only when every one of them votes `true` and nothing blocks any of them.
 *
 * A pure function of the register, so that all processes come to the same answer. With nobody registered nothing changes: the one that
 * asks was paused for so long that its own entry ran out.
 */
export function decideMode(voters: readonly Voter[], current: DrainerMode["desired"]): Decision {
  if (voters.length === 0) return { desired: current, reasons: ["no live process drains"] };
  const byReason = new Map<string, string[]>();
  for (const voter of voters) {
    for (const reason of objectionsOf(voter))
      byReason.set(reason, [...(byReason.get(reason) ?? []), `${voter.app} ${voter.host}:${voter.pid}`]);
  }
  const reasons = [...byReason].map(([reason, who]) => `${reason} (${shown(who)})`).sort();
  return { desired: reasons.length === 0 ? "pull" : "batch", reasons };
}

function objectionsOf({ vote, blockers }: Voter): readonly string[] {
  const votes = vote === "true" ? [] : [`OUTBOX_PULL_WORKER=${vote}`];
  return [...votes, ...(blockers ?? ["has not said whether it can run pull workers"])];
}

const SHOWN = 3;

function shown(who: readonly string[]): string {
  const rest = who.length - SHOWN;
  return rest > 0 ? `${who.slice(0, SHOWN).join(", ")} and ${rest} more` : who.join(", ");
}
