import type { RouteRule } from "@toolctrl/event-router/router";
import type { ConsumerMapEntry } from "../entry.ts";
import type { Declared, MapUnderTest } from "./compared.ts";

/** In what the map differs from the names, queues and routes that are declared, a sentence each. */
export function compareWithDeclared(map: MapUnderTest, declared: Declared): string[] {
  return [...compareConsumers(map, declared), ...compareQueues(map, declared), ...compareRoutes(map, declared)];
}

function compareConsumers({ entries }: MapUnderTest, { consumers }: Declared): string[] {
  const absent = Object.entries(consumers).flatMap(([name, queue]) => {
    const entry = entries[name];
    if (entry === undefined) return [`The consumer ${name} is not on the map.`];
    return entry.queue === queue ? [] : [`The map says that ${name} reads ${entry.queue}, and it reads ${queue}.`];
  });
  const unknown = Object.keys(entries).filter((name) => !Object.hasOwn(consumers, name));
  return [...absent, ...unknown.map((name) => `The map has an entry ${name}, and there is no such consumer.`)];
}

function compareQueues({ entries, queuesWithoutEvents }: MapUnderTest, { queues }: Declared): string[] {
  const known = new Set([...Object.values(entries).map(({ queue }) => queue as string), ...queuesWithoutEvents]);
  return queues.filter((queue) => !known.has(queue)).map((queue) => `The queue ${queue} is not on the map.`);
}

function compareRoutes({ entries }: MapUnderTest, { routes }: Declared): string[] {
  const unserved = routes.flatMap((rule) => {
    const served = Object.entries(entries).filter(([name, entry]) => serves(rule, name, entry));
    if (served.length === 0) return [`The route ${rule.prefix} is not on the map: no entry has the prefix and is named by the route.`];
    if (rule.target === "database" || served.some(([, { queue }]) => queue === rule.queue)) return [];
    return [`The route ${rule.prefix} leads to ${rule.queue}, and none of its consumers reads that queue.`];
  });
  const named = routes.flatMap(({ prefix, consumers }) =>
    consumers
      .filter((name) => entries[name]?.prefixes.includes(prefix) === false)
      .map((name) => `The route ${prefix} names ${name}, and the map does not say so.`),
  );
  const claimed = Object.entries(entries).flatMap(([name, entry]) =>
    entry.prefixes
      .filter((prefix) => !routes.some((rule) => rule.prefix === prefix && serves(rule, name, entry)))
      .map((prefix) => `The map says that ${name} gets events of ${prefix}, and no route does.`),
  );
  return [...unserved, ...named, ...claimed];
}

/** A route to a queue names its consumers; a route to the database runs every effect that asks for the event. */
function serves(rule: RouteRule, name: string, { queue, prefixes }: ConsumerMapEntry): boolean {
  if (!prefixes.includes(rule.prefix)) return false;
  return rule.target === "database" ? queue === "database" : rule.consumers.includes(name);
}
