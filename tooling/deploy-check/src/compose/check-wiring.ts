import type { Compose } from "./read-compose.ts";

/** What is wrong with what services ask of others and of the file, a line each: who waits for whom, and where data is. */
export function checkWiring(compose: Compose): string[] {
  return Object.keys(compose.services).flatMap((name) =>
    [...waitProblems(name, compose), ...volumeProblems(name, compose)].map((problem) => `${name}: ${problem}`),
  );
}

/** Whether a service starts only once another one is healthy, at first or second hand. */
export function waitsUntilHealthy(compose: Compose, name: string, other: string): boolean {
  const waiting = [name, ...awaitedBy(compose, name)];
  return waiting.some((one) => compose.services[one]?.depends_on?.[other]?.condition === "service_healthy");
}

/** Everybody whom a service waits for, at first or second hand. */
function awaitedBy({ services }: Compose, name: string): Set<string> {
  const found = new Set<string>();
  const visit = (waiting: string): void => {
    for (const awaited of Object.keys(services[waiting]?.depends_on ?? {}).filter((other) => !found.has(other))) {
      found.add(awaited);
      visit(awaited);
    }
  };
  visit(name);
  return found;
}

function waitProblems(name: string, compose: Compose): string[] {
  const { services } = compose;
  const waits = Object.entries(services[name]?.depends_on ?? {}).flatMap(([other, { condition }]) => {
    const awaited = services[other];
    if (awaited === undefined)
      return [`expected a service ${other} to wait for, got none: name one of ${Object.keys(services).join(", ")}`];
    if (condition === "service_healthy" && awaited.healthcheck === undefined)
      return [`expected ${other} to have a health check, as it is waited for until healthy, got none: give it a healthcheck`];
    if (condition === "service_completed_successfully" && awaited.restart !== "no")
      return [`expected ${other} to end, as it is waited for until then, got restart ${awaited.restart}: wait until it is healthy`];
    return [];
  });
  const circle = awaitedBy(compose, name).has(name)
    ? [`expected it to wait for nobody who waits for it, got ${name}: take it out of depends_on`]
    : [];
  return [...waits, ...circle];
}

function volumeProblems(name: string, { services, volumes = {} }: Compose): string[] {
  const sources = (services[name]?.volumes ?? []).map((volume) => volume.split(":")[0] ?? "");
  return sources
    .filter((source) => /^\w/.test(source) && volumes[source] === undefined)
    .map((source) => `expected the volume ${source} to be declared, got none: add it to volumes at the end of the file`);
}
