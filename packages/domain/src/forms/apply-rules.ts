import type { JsonObject } from "@toolctrl/foundation/json";
import { matches } from "./matches.ts";
import type { RouteAction, RouteRule } from "./route-schema.ts";

/** An action that a submission's data ask for; of a submission the same one on every try. */
export interface DueAction<Action extends RouteAction = RouteAction> {
  readonly ruleId: string;
  /** Its place in its rule, from 0. */
  readonly place: number;
  readonly action: Action;
}

/** The actions of the rules that apply, in their order. */
export function applyRules(routes: readonly RouteRule[], data: JsonObject): DueAction[] {
  const due: DueAction[] = [];
  for (const { id, when, actions, stop } of routes) {
    if (when !== undefined && !matches(when, data)) continue;
    due.push(...actions.map((action, place) => ({ ruleId: id, place, action })));
    if (stop) break;
  }
  return due;
}
