import type { RunningProgram } from "./check-agreement.ts";
import { waitsUntilHealthy } from "./check-wiring.ts";
import type { Compose, Service } from "./read-compose.ts";

/** Docker's own 10 s are too short for a last checkpoint, or for the rest of an append-only file. */
const STOP_GRACE_MS = 30_000;

/** An address that the file itself writes, with the references that it has, as in its password. */
interface Address {
  readonly user: string;
  readonly password: string;
  readonly host: string;
  readonly path: string;
}

/** What a server has to have, and what it has. */
interface Need {
  readonly expected: string;
  readonly got: string | undefined;
  readonly isMet: boolean;
  readonly fix: string;
}

/** The variables that name servers, and what a service that one of them names has to have. */
const SERVERS: ReadonlyArray<readonly [variable: string, needs: (service: Service, address: Address) => readonly Need[]]> = [
  ["DATABASE_URL", (service, address) => [...needsOfPostgres(service, address), ...needsOfServer(service)]],
  ["DATABASE_DIRECT_URL", () => []],
  ["REDIS_URL", (service) => [...needsOfRedis(service), ...needsOfServer(service)]],
];

/** What is wrong with the servers whose addresses the file writes itself, a line each. Those that somebody gives are elsewhere. */
export function checkServers(programs: readonly RunningProgram[], compose: Compose): string[] {
  return SERVERS.flatMap(([variable, needs]) => {
    const named = programs.flatMap(({ name, service, reads }) => {
      const address = reads.has(variable) ? addressOf(service.environment?.[variable] ?? "") : null;
      return address === null ? [] : [{ name, address }];
    });
    const hosts = new Map(named.map(({ address }) => [address.host, address]));
    return [
      ...named.flatMap(({ name, address: { host } }) => reachProblems(compose, { name, variable, host })),
      ...[...hosts.values()].flatMap((address) => {
        const service = compose.services[address.host];
        const unmet = service === undefined ? [] : needs(service, address).filter(({ isMet }) => !isMet);
        return unmet.map(({ expected, got = "none", fix }) => `${address.host}: expected ${expected}, got ${got}: ${fix}`);
      }),
    ];
  });
}

function addressOf(value: string): Address | null {
  const [, user = "", password = "", host = "", path = ""] =
    /^[a-z+]+:\/\/(?:([^:@/]*)(?::(.*))?@)?([^:/?]+)(?::[^/?]*)?(?:\/([^?]*))?/.exec(value) ?? [];
  return host === "" ? null : { user, password, host, path };
}

function reachProblems(compose: Compose, { name, variable, host }: { name: string; variable: string; host: string }): string[] {
  if (compose.services[host] === undefined)
    // A name with a dot is somebody's server elsewhere.
    return host.includes(".")
      ? []
      : [
          `${name}: expected ${variable} to name a service of the file, got ${host}: name one of ${Object.keys(compose.services).join(", ")}, or ask for the address by \${${variable}:?}`,
        ];
  return waitsUntilHealthy(compose, name, host)
    ? []
    : [`${name}: expected it to wait until ${host} is healthy, got no such wait: add ${host} to depends_on, with service_healthy`];
}

function needsOfServer({ restart, stop_grace_period: graceMs }: Service): Need[] {
  return [
    {
      expected: "restart unless-stopped",
      got: restart,
      isMet: restart === "unless-stopped",
      fix: "nobody else starts it again; write that",
    },
    {
      expected: `a stop_grace_period of ${STOP_GRACE_MS / 1000} s or more`,
      got: graceMs === undefined ? undefined : `${graceMs / 1000} s`,
      isMet: graceMs !== undefined && graceMs >= STOP_GRACE_MS,
      fix: "killed while it writes, it has to recover at its next start; give it the time to end",
    },
  ];
}

function needsOfPostgres({ image = "", volumes = [], environment = {} }: Service, { user, password, path }: Address): Need[] {
  const version = /^postgres:(\d+)/.exec(image)?.[1];
  const made = { POSTGRES_USER: user, POSTGRES_PASSWORD: password, POSTGRES_DB: path };
  return [
    {
      expected: "an image postgres:<version>…",
      got: image,
      isMet: version !== undefined,
      fix: "where its data is depends on the version; name one",
    },
    ...(version === undefined ? [] : [needOfVolume(volumes, Number(version) >= 18 ? "/var/lib/postgresql" : "/var/lib/postgresql/data")]),
    ...Object.entries(made).map(([name, value]) => ({
      expected: `${name} to be ${value}`,
      got: environment[name] ?? undefined,
      isMet: environment[name] === value,
      fix: `the first start makes that, and DATABASE_URL asks for ${value}; write the same in both`,
    })),
  ];
}

function needsOfRedis({ volumes = [], command = [] }: Service): Need[] {
  const flag = (name: string, value: string, fix: string): Need => {
    const at = command.indexOf(name);
    const got = at === -1 ? undefined : command[at + 1];
    return { expected: `${name} ${value}`, got, isMet: got === value, fix: `${fix}; put "${name}", "${value}" into its command` };
  };
  return [
    flag("--appendonly", "yes", "without the file a restart forgets every job"),
    flag("--maxmemory-policy", "noeviction", "jobs are no cache: one that is evicted is not done"),
    needOfVolume(volumes, "/data"),
  ];
}

function needOfVolume(volumes: readonly string[], path: string): Need {
  return {
    expected: `a volume at ${path}`,
    got: volumes.length === 0 ? undefined : volumes.join(", "),
    isMet: volumes.some((volume) => volume.split(":")[1] === path),
    fix: `its data is there, and goes with the container; mount one there`,
  };
}
