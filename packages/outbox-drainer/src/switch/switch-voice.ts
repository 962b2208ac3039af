import type { Logger } from "@toolctrl/runtime/logger";
import type { ConditionReport } from "./check-conditions.ts";
import type { ModeState } from "./move-mode.ts";

export interface SwitchNews extends ModeState, ConditionReport {
  /** While a switch waits: the claims it waits for. */
  readonly openClaims: { readonly claims: number; readonly until: Date | null } | null;
}

/** Tells a person what the switch does and why, each thing once, and keeps the last of it for `/readyz`. */
export interface SwitchVoice {
  moved(what: "desired" | "mode", state: ModeState): void;
  say(news: SwitchNews): void;
  failed(error: string): void;
  last(): Readonly<Record<string, unknown>>;
}

export function createSwitchVoice(log: Logger): SwitchVoice {
  let said = "";
  let failure: string | null = null;
  let facts: Readonly<Record<string, unknown>> = {};

  return {
    moved(what, { mode, decision }) {
      const told = { ...row(mode), reasons: decision.reasons };
      if (what === "desired")
        log.info(told, `the drainers are to change to ${mode.desired}: nobody claims until earlier claims have ended`);
      else log.info(told, `the drainer is ${mode.mode} now`);
    },
    say({ mode, decision, blockers, notes, openClaims }) {
      const { reasons } = decision;
      const waitingFor = openClaims === null || openClaims.claims === 0 ? {} : { waitingFor: openClaims };
      facts = { ...row(mode), whyNotPull: reasons, blockers, notes, ...waitingFor };
      failure = null;
      const news = JSON.stringify([mode.mode, mode.desired, reasons, blockers, notes, openClaims !== null]);
      if (news === said) return;
      said = news;
      if (reasons.length > 0) log.info({ ...facts }, `pull workers are off: ${reasons.join("; ")}`);
      else if (openClaims !== null) log.info({ ...facts }, "the switch waits for earlier claims");
      else log.info({ ...facts }, `pull workers are on${notes.length === 0 ? "" : `, though ${notes.join("; ")}`}`);
    },
    failed(error) {
      if (failure !== error) log.error({ error }, "the drainer switch could not look at the mode");
      failure = error;
    },
    last: () => (failure === null ? facts : { ...facts, error: failure }),
  };
}

function row({ mode, desired, epoch }: ModeState["mode"]): Record<string, string> {
  return { mode, desired, epoch: String(epoch) };
}
