import { CodedError } from "@toolctrl/foundation/errors";
import { isEventType } from "@toolctrl/foundation/event-type";
import { QUEUES } from "@toolctrl/foundation/queues";
import { ROUTES, type RouteRule } from "./routes.ts";

export { ROUTES, type RouteRule } from "./routes.ts";

/** Finds the route of an event type; null when no rule matches, which is for a person to mend. */
export type Router = (eventType: string) => RouteRule | null;

/**
 * Checks the rules and makes the router: the longest prefix wins, and a prefix matches whole segments only, because it ends in a dot.
 * @throws CodedError `ROUTER.RULE` naming every bad rule.
 */
export function createRouter(rules: readonly RouteRule[] = ROUTES): Router {
  const problems = findProblems(rules);
  if (problems.length > 0) {
    throw new CodedError(
      "ROUTER.RULE",
      `expected every routing rule to be valid, got:\n${problems.map((line) => `  - ${line}`).join("\n")}`,
      {
        facts: { problems },
      },
    );
  }
  const longestFirst = [...rules].sort((a, b) => b.prefix.length - a.prefix.length);
  return (eventType) => {
    if (!isEventType(eventType)) return null;
    return longestFirst.find((rule) => eventType.startsWith(rule.prefix)) ?? null;
  };
}

function findProblems(rules: readonly RouteRule[]): string[] {
  const problems: string[] = [];
  const seen = new Set<string>();
  for (const rule of rules) {
    const name = JSON.stringify(rule.prefix);
    if (!/^(?:[a-z0-9]+(?:-[a-z0-9]+)*\.)+$/.test(rule.prefix)) problems.push(`${name}: expected lowercase segments, each ended by a dot`);
    if (seen.has(rule.prefix)) problems.push(`${name}: expected each prefix once, got it twice`);
    seen.add(rule.prefix);
    if (rule.target === "queue") problems.push(...queueProblems(name, rule.queue));
    if (rule.target === "queue" && rule.consumers.length === 0) problems.push(`${name}: expected at least one consumer, got none`);
  }
  return problems;
}

function queueProblems(name: string, queue: string): string[] {
  // BullMQ builds keys from the name and refuses a colon in it.
  if (queue.includes(":")) return [`${name}: expected a queue name without a colon, got ${JSON.stringify(queue)}`];
  if (!Object.hasOwn(QUEUES, queue)) return [`${name}: expected a known queue, got ${JSON.stringify(queue)}`];
  return [];
}
