import type { Live, LiveApp, LiveEffect, MapUnderTest } from "./compared.ts";

/** In what the map differs from what runs, a sentence each. */
export function compareWithLive(map: MapUnderTest, { apps, effects }: Live): string[] {
  return [...apps.flatMap((app) => compareApp(map, app)), ...compareEffects(map, effects), ...findUnrun(map, { apps, effects })];
}

function compareApp({ entries, queuesWithoutEvents }: MapUnderTest, { app, consumers, queues }: LiveApp): string[] {
  const unknown = consumers.filter((name) => entries[name] === undefined).map((name) => `${app} runs ${name}, which is not on the map.`);
  const expected = [...consumers.flatMap((name) => entries[name]?.queue ?? []), ...queuesWithoutEvents] as readonly string[];
  const strange = queues
    .filter((queue) => !expected.includes(queue))
    .map((queue) => `${app} works ${queue} with no consumer that the map puts there.`);
  const idle = consumers.flatMap((name) => {
    const queue = entries[name]?.queue;
    return queue === undefined || queues.includes(queue) ? [] : [`${app} runs ${name}, and does not work its queue ${queue}.`];
  });
  return [...unknown, ...strange, ...idle];
}

function compareEffects({ entries }: MapUnderTest, effects: readonly LiveEffect[]): string[] {
  return effects.flatMap(({ name, on }) => {
    const entry = entries[name];
    if (entry === undefined) return [`The after-save effect ${name} is not on the map.`];
    return on
      .filter((type) => !entry.prefixes.some((prefix) => type.startsWith(prefix)))
      .map((type) => `The after-save effect ${name} runs for ${type}, and the map does not say so.`);
  });
}

function findUnrun({ entries, queuesWithoutEvents }: MapUnderTest, { apps, effects }: Live): string[] {
  const run = new Set([...apps.flatMap(({ consumers }) => consumers), ...effects.map(({ name }) => name)]);
  const worked = new Set(apps.flatMap(({ queues }) => queues));
  const consumers = Object.keys(entries)
    .filter((name) => !run.has(name))
    .map((name) => `The map has an entry ${name}, and nobody runs it.`);
  const queues = queuesWithoutEvents.filter((queue) => !worked.has(queue)).map((queue) => `Nobody works the queue ${queue}.`);
  return [...consumers, ...queues];
}
