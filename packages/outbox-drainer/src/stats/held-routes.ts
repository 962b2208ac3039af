import type { Queryable } from "@toolctrl/db/sql";
import { ROUTES, type Router, type RouteRule } from "@toolctrl/event-router/router";
import type { HeldBy, Hold } from "../held/hold.ts";
import { countHeldByType } from "../held/sql/count-held-by-type.ts";

/** A route that pull workers hold, why, and how many of its events wait for that now. */
export interface HeldRoute extends Hold {
  /** The routing rule's prefix. */
  readonly route: string;
  readonly events: number;
  /** When the oldest of them was published. */
  readonly oldestAt: Date | null;
}

export interface HeldRoutes {
  /** Every route that is held, or would be: while the dispatcher runs their events leave as all others do. */
  readonly routes: readonly HeldRoute[];
  /** Events of other routes that were put off behind held ones of their records. */
  readonly behind: number;
}

export async function readHeldRoutes(deps: { db: Queryable; router: Router; heldBy: HeldBy }): Promise<HeldRoutes> {
  const { router, heldBy } = deps;
  const counts = (await countHeldByType(deps.db)).map((count) => ({ ...count, route: router(count.eventType)?.prefix ?? null }));
  const routes = ROUTES.flatMap((rule: RouteRule): HeldRoute[] => {
    const hold = heldBy(rule);
    if (hold === null) return [];
    const own = counts.filter(({ route }) => route === rule.prefix);
    const oldestAt = own.map((count) => count.oldestAt).sort((a, b) => a.getTime() - b.getTime())[0] ?? null;
    return [{ route: rule.prefix, ...hold, events: sum(own), oldestAt }];
  });
  const held = new Set<string | null>(routes.map(({ route }) => route));
  return { routes, behind: sum(counts.filter(({ route }) => !held.has(route))) };
}

function sum(counts: ReadonlyArray<{ events: number }>): number {
  return counts.reduce((total, { events }) => total + events, 0);
}
