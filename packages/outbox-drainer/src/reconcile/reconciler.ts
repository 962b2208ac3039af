import { START_OF_TIME, type Cursor } from "../sql/purge-done-events.ts";
import { RECONCILE_PAGE, reconcilePage, type LostEvent, type ReconcileDeps } from "./reconcile-events.ts";
import { listUnfinished } from "./sql/list-unfinished.ts";

/** What one run found. `underWay`: unfinished events whose jobs are alive. */
export interface ReconcilerReport {
  readonly looked: number;
  readonly underWay: number;
  readonly lost: readonly LostEvent[];
}

/** Repeats {@link reconcileEvents} without reading everything each time. */
export interface Reconciler {
  /** After the run before it, if that has not ended. @throws CodedError `QUEUE.*` when the queue cannot be asked; the next run goes on from the same place. */
  run(): Promise<ReconcilerReport>;
}

/** Events under way that are kept in mind; with more of them the run waits where it is until some have ended. */
const MAX_OPEN = 10_000;
/** A pass over everything that is kept, however far the last one came: what it took for finished it never saw again. */
const PASS_MS = 60 * 60 * 1000;

/**
 * Looks at each handed-off event once, in order of hand-off, and keeps in mind those that were under way; each run asks again of these,
 * and goes on with what was handed off since. An event that is requeued is handed off anew, and so comes again.
 */
export function createReconciler(deps: ReconcileDeps, options: { readonly olderThanMs: number; readonly actor: string }): Reconciler {
  const request = { apply: true, actor: options.actor };
  let open: string[] = [];
  let after: Cursor = START_OF_TIME;
  let passSince = performance.now();
  let last: Promise<unknown> = Promise.resolve();
  return {
    // One after the other: two that read the same pages would keep their events twice, and one would forget what the other had kept.
    run() {
      const run = last.then(look);
      last = run.catch(() => undefined);
      return run;
    },
  };

  async function look(): Promise<ReconcilerReport> {
    if (performance.now() - passSince > PASS_MS) {
      [open, after, passSince] = [[], START_OF_TIME, performance.now()];
    }
    const lost: LostEvent[] = [];
    const again = await recheck(open);
    open = again.open;
    lost.push(...again.lost);
    let looked = 0;
    for (let more = true; more && open.length < MAX_OPEN;) {
      const page = await listUnfinished(deps.pool, deps.routes, { ...options, after, limit: RECONCILE_PAGE, since: null });
      const found = await reconcilePage(deps, page.events, request);
      const gone = new Set(found.map(({ id }) => id));
      lost.push(...found);
      open.push(...page.events.flatMap(({ id }) => (gone.has(id) ? [] : [id])));
      looked += page.looked;
      after = page.next ?? after;
      more = page.looked === RECONCILE_PAGE;
    }
    return { looked, underWay: open.length, lost };
  }

  async function recheck(ids: readonly string[]): Promise<{ open: string[]; lost: LostEvent[] }> {
    const result: { open: string[]; lost: LostEvent[] } = { open: [], lost: [] };
    for (let start = 0; start < ids.length; start += RECONCILE_PAGE) {
      const { events } = await listUnfinished(deps.pool, deps.routes, { ids: ids.slice(start, start + RECONCILE_PAGE) });
      const found = await reconcilePage(deps, events, request);
      const gone = new Set(found.map(({ id }) => id));
      result.lost.push(...found);
      result.open.push(...events.flatMap(({ id }) => (gone.has(id) ? [] : [id])));
    }
    return result;
  }
}
