import type { Queryable } from "@toolctrl/db/sql";
import { readMode, type DrainerMode } from "../sql/read-mode.ts";
import { decideMode, type Decision } from "./decide-mode.ts";
import { completeSwitch, setDesired } from "./sql/move-mode-row.ts";
import { readVoters } from "./sql/read-voters.ts";

/** The mode row, and what the live processes ask for. */
export interface ModeState {
  readonly mode: DrainerMode;
  readonly decision: Decision;
}

/** Reads the row and the register. No lock. */
export async function readModeState(db: Queryable): Promise<ModeState> {
  const mode = await readMode(db);
  return { mode, decision: decideMode(await readVoters(db), mode.desired) };
}

/** Whether the row has yet to move. */
export function isUnsettled({ mode, decision }: ModeState): boolean {
  return mode.desired !== decision.desired || mode.mode !== mode.desired;
}

/**
 * Moves the row one step towards what the live processes ask for. Any process may: each step names the epoch it was decided on, so of
 * several that try one succeeds. A crash between the two steps leaves a row on which nobody claims until any process takes the next one.
 *
 * @returns the step that was taken by this call; null when it was taken by another, or cannot be taken yet.
 */
export async function moveMode(db: Queryable, { mode, decision }: ModeState): Promise<"desired" | "mode" | null> {
  if (mode.desired !== decision.desired) return (await setDesired(db, decision.desired, mode.epoch)) ? "desired" : null;
  if (mode.mode === mode.desired) return null;
  return (await completeSwitch(db, mode.epoch)) ? "mode" : null;
}
