import type { Queryable } from "@toolctrl/db/sql";
import { describeError, errorCodeOf } from "@toolctrl/foundation/errors";
import type { Logger } from "@toolctrl/runtime/logger";
import type { Metrics } from "@toolctrl/runtime/metrics";
import { withDeadline } from "@toolctrl/runtime/deadline";
import type { RegisteredProcess } from "../registry.ts";
import { createTicker } from "../ticker.ts";
import type { ConditionCheck } from "./check-conditions.ts";
import { createDrainerSlot, type DrainerFactories } from "./drainer-slot.ts";
import { isUnsettled, moveMode, readModeState, type ModeState } from "./move-mode.ts";
import type { Shadow } from "./shadow.ts";
import { countOpenClaims } from "./sql/count-open-claims.ts";
import { createSwitchVoice } from "./switch-voice.ts";

/** All times in ms. */
export interface SwitchSettings {
  /** How often the register is looked at. Default 2000. */
  readonly intervalMs?: number;
  /** The same while a switch is under way, and nobody claims. Default 200. */
  readonly switchingMs?: number;
  /** How long the claims of a drainer that is switched off are prolonged; after that a switch waits for their leases at most. */
  readonly leaveMs: number;
}

export interface DrainerSwitchDeps {
  readonly db: Queryable;
  readonly drainers: DrainerFactories;
  /** What keeps this process from running pull workers. */
  readonly checkConditions: ConditionCheck;
  readonly registered: Pick<RegisteredProcess, "reportBlockers">;
  /** Compares what pull workers would claim with what the dispatcher would, beside the dispatcher. */
  readonly shadow?: Shadow | null;
  readonly settings: SwitchSettings;
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** Runs the drainer that the mode row names, and takes part in moving that row. */
export interface DrainerSwitch {
  start(): void;
  /** A hint that something was published. */
  wake(): void;
  /** Looks at the register and the row once, moves the row as far as it goes, and starts or stops drainers. */
  tick(): Promise<void>;
  /** Facts for `/readyz`. */
  details(): Readonly<Record<string, unknown>>;
  /** Claims nothing more; resolves when what was claimed is settled, or rejects when `graceMs` are over. */
  close(graceMs: number): Promise<void>;
}

/**
 * Every process can run both drainers and runs the one the row names. Each registers what keeps it from running pull workers; any of them
 * moves the row when the register asks for it (`move-mode.ts`). Claims are safe without this: each one asks the row itself.
 */
export function createDrainerSwitch(deps: DrainerSwitchDeps): DrainerSwitch {
  const { db, settings, metrics, log } = deps;
  const slot = createDrainerSlot(deps.drainers, { leaveMs: settings.leaveMs, log });
  const voice = createSwitchVoice(log);
  let switching = false;
  let closing = false;

  async function tick(): Promise<void> {
    const report = await deps.checkConditions();
    await deps.registered.reportBlockers(report.blockers);
    const state = await settle(await readModeState(db));
    run(switching ? null : state.mode.mode);
    voice.say({ ...state, ...report, openClaims: switching ? await countOpenClaims(db) : null });
    if (slot.running === "batch") await deps.shadow?.compare();
  }

  /** Moves the row as far as it goes. */
  async function settle(state: ModeState): Promise<ModeState> {
    switching = isUnsettled(state);
    // Stopped before the row is moved: claims that follow each other closely would keep the move waiting.
    if (switching) run(null);
    while (switching && !closing) {
      const moved = await moveMode(db, state);
      state = await readModeState(db);
      switching = isUnsettled(state);
      if (moved === null) break;
      voice.moved(moved, state);
    }
    return state;
  }

  function run(mode: ModeState["mode"]["mode"] | null): void {
    if (closing) return;
    slot.run(mode);
    for (const name of ["batch", "pull"] as const) metrics.set("drainer_mode", slot.running === name ? 1 : 0, { mode: name });
  }

  const ticker = createTicker({
    intervalMs: () => (switching ? (settings.switchingMs ?? 200) : (settings.intervalMs ?? 2_000)),
    tick,
    onWake: () => undefined,
    onError(error) {
      metrics.add("outbox_tick_errors_total", 1, { code: errorCodeOf(error) });
      voice.failed(describeError(error));
    },
  });
  return {
    tick,
    start: ticker.start,
    wake: slot.wake,
    details: () => ({ drainer: { running: slot.running, ...voice.last() } }),
    async close(graceMs) {
      closing = true;
      const late = (): Error => new Error(`expected the drainers to settle what they claimed within ${graceMs} ms, they did not`);
      await withDeadline(Promise.all([ticker.close(graceMs), slot.close(graceMs)]), graceMs, late);
    },
  };
}
