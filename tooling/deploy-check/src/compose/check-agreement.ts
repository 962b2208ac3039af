import type { Service } from "./read-compose.ts";

/** A service that runs a program of the image, and the variables that the program reads. */
export interface RunningProgram {
  readonly name: string;
  readonly service: Service;
  readonly reads: ReadonlySet<string>;
}

/** With another value a program starts and is healthy, and something is not done or not reached. */
const CONSTANTS: ReadonlyArray<readonly [variable: string, value: (service: string) => string, why: string]> = [
  ["NODE_ENV", () => "production", "elsewhere a program guesses its queue where nobody names one"],
  ["HEALTH_HOST", () => "0.0.0.0", "with another address a scraper in the network reaches no /metrics"],
  [
    "HEALTH_PORT",
    () => "9464",
    "the guides and the scraper know it by this number, and the health command cannot ask a port that is taken by chance (0)",
  ],
  ["WEB_HOST", () => "0.0.0.0", "with another address neither the proxy nor the bridge of worker-general reaches web"],
  ["OUTBOX_DISPATCHER_ENABLED", (service) => String(service === "worker-general"), "worker-general drains, and nobody else"],
];

/** What each of several programs has for itself; they agree on everything else that more than one of them reads. */
const OWN: ReadonlySet<string> = new Set([...CONSTANTS.map(([variable]) => variable), "WORKER_QUEUE_GROUP", "LOG_LEVEL"]);

/** What is wrong with what the programs are told taken together, a line each. */
export function checkAgreement(programs: readonly RunningProgram[]): string[] {
  return [...constantProblems(programs), ...differenceProblems(programs), ...imageProblems(programs)];
}

function constantProblems(programs: readonly RunningProgram[]): string[] {
  return programs.flatMap(({ name, service: { environment = {} }, reads }) =>
    CONSTANTS.flatMap(([variable, valueFor, why]) => {
      const [value, found] = [valueFor(name), environment[variable]];
      // That it is not there at all is said of its environment.
      if (!reads.has(variable) || found === undefined || found === value) return [];
      return [`${name}: expected ${variable} to be ${value}, got ${found}: ${why}; write ${variable}: "${value}"`];
    }),
  );
}

/** Programs that write and read different servers, queues or secrets each look healthy, while jobs wait where nobody works. */
function differenceProblems(programs: readonly RunningProgram[]): string[] {
  const variables = new Set(programs.flatMap(({ reads }) => [...reads]).filter((variable) => !OWN.has(variable)));
  return [...variables].flatMap((variable) => {
    const readers = programs.filter(({ reads }) => reads.has(variable));
    const difference = describeDifference(readers, ({ service }) => service.environment?.[variable]);
    return difference === null
      ? []
      : [`expected ${variable} to be the same in every program, got ${difference}: say it once, in an x-… block that they all merge`];
  });
}

/** Two versions may run beside each other for an upgrade; a file that starts both would never end it. */
function imageProblems(programs: readonly RunningProgram[]): string[] {
  const difference = describeDifference(
    programs,
    ({ service: { build, image } }) => image ?? (build === undefined ? undefined : `build ${build}`),
  );
  return difference === null
    ? []
    : [`expected every program to run the same image, got ${difference}: the image has them all; give each service the same image`];
}

/** The values with those that have them, or null where there are fewer than two. */
function describeDifference(
  programs: readonly RunningProgram[],
  valueOf: (program: RunningProgram) => string | null | undefined,
): string | null {
  const holders = Map.groupBy(programs, valueOf);
  // One that is not there at all is said of its service.
  holders.delete(undefined);
  return holders.size < 2 ? null : [...holders].map(([value, who]) => `${value} (${who.map(({ name }) => name).join(", ")})`).join(" and ");
}
