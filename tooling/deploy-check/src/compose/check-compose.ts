import { SERVICES, type Program } from "../programs.ts";
import { checkAgreement } from "./check-agreement.ts";
import { checkEnvironment, secretsOf } from "./check-environment.ts";
import { checkServers } from "./check-servers.ts";
import { checkWiring } from "./check-wiring.ts";
import { commandProblem, healthProblem } from "./command-file.ts";
import { readCompose, type Compose, type Service } from "./read-compose.ts";
import { interpolate, variablesOf } from "./variables.ts";

export type Platform = "plain" | "coolify";

/** The least time for loading an app on a small machine before a check counts. */
const START_PERIOD_MS = 30_000;
/** What the health command gives itself, and a moment to start. */
const HEALTH_TIMEOUT_MS = 4000;
/** A port that is open on the host itself only, unless a variable has another address. */
const LOOPBACK = /^(?:\$\{\w+:-)?127\.0\.0\.1:/;

export interface ComposeCheck {
  readonly text: string;
  readonly platform: Platform;
  readonly programs: readonly Program[];
  /** Values for everything that the file requires, as somebody fills them in. */
  readonly values: Readonly<Record<string, string>>;
}

/** What is wrong with a compose file, a line each. */
export function checkCompose({ text, platform, programs, values }: ComposeCheck): string[] {
  const read = readCompose(text);
  if ("problems" in read) return [...read.problems];
  const { compose } = read;
  // Coolify adds an `env_file` with every variable of the application to every service.
  const secrets = platform === "coolify" ? secretsOf(programs) : [];
  const missing = SERVICES.filter((name) => compose.services[name] === undefined).map((name) => `services: expected ${name}, got none`);
  const running = programs.flatMap(({ service: name, shape }) => {
    const service = compose.services[name];
    return service === undefined ? [] : [{ name, service, reads: new Set(Object.keys(shape)) }];
  });
  return [
    ...missing,
    ...Object.entries(compose.services).flatMap(([name, service]) => platformProblems(name, service, platform)),
    ...programs.flatMap(({ service: name, app, ...program }) => {
      const service = compose.services[name];
      if (service === undefined) return [];
      const problems = [
        ...processProblems(service, app),
        ...(name === "migrate" ? migrateProblems(service, platform) : appProblems(service)),
        ...checkEnvironment(service, program, values, secrets),
      ];
      return problems.map((problem) => `${name}: ${problem}`);
    }),
    ...portProblems(compose),
    ...checkAgreement(running),
    ...checkWiring(compose),
    ...checkServers(running, compose),
  ];
}

/** Ports and what only one platform knows. */
function platformProblems(name: string, service: Service, platform: Platform): string[] {
  const { ports, exclude_from_hc: excluded, build, image, environment = {} } = service;
  const open = platform === "plain" && name === "web";
  const messages = Object.values(environment).flatMap((value) =>
    variablesOf(value ?? "").filter(({ kind, text }) => kind === "required" && text !== ""),
  );
  return [
    ...(ports !== undefined && !open ? [`${name}: expected no ports, got ${ports.join(", ")}`] : []),
    ...(excluded === true && platform === "plain" ? [`${name}: expected no exclude_from_hc, which Compose refuses`] : []),
    // To Compose it is a message, to Coolify a value.
    ...(platform === "coolify" ? messages : []).map((variable) => `${name}: expected \${${variable.name}:?}, got a text after it`),
    ...(build === undefined && image === undefined ? [`${name}: expected an image or how to build it, got neither`] : []),
    ...(build === undefined && /:latest$|^[^:]+$/.test(image ?? ":") ? [`${name}: expected a pinned image, got ${image}`] : []),
  ];
}

function processProblems({ command }: Service, app: string): string[] {
  const problem = commandProblem(command, app);
  return problem === null ? [] : [problem];
}

/** A step that ends: nobody starts it again, and it is not ill for having ended. */
function migrateProblems({ restart, exclude_from_hc: excluded, healthcheck }: Service, platform: Platform): string[] {
  return [
    ...(restart === "no" ? [] : [`expected restart "no", got ${restart}`]),
    ...(platform === "coolify" && excluded !== true ? ["expected exclude_from_hc, got none"] : []),
    ...(healthcheck === undefined ? [] : ["expected no health check, got one"]),
  ];
}

/** A program that stays: it is asked whether it lives, begins after the migrations, and has the time to drain. */
function appProblems(service: Service): string[] {
  const { healthcheck, depends_on: waits = {}, stop_grace_period: graceMs = 0, restart, environment = {} } = service;
  const health = healthProblem(healthcheck?.test);
  const drainMs = Number(interpolate(environment["SHUTDOWN_GRACE_MS"] ?? "", {}));
  return [
    ...(health === null ? [] : [health]),
    ...(healthcheck !== undefined && healthcheck.start_period < START_PERIOD_MS
      ? [`expected a start_period of ${START_PERIOD_MS} ms or more, got ${healthcheck.start_period}`]
      : []),
    ...(healthcheck !== undefined && healthcheck.timeout < HEALTH_TIMEOUT_MS
      ? [`expected a timeout of ${HEALTH_TIMEOUT_MS} ms or more, got ${healthcheck.timeout}`]
      : []),
    ...(waits["migrate"]?.condition === "service_completed_successfully"
      ? []
      : ["expected it to wait for migrate with service_completed_successfully"]),
    ...(drainMs > 0 && drainMs < graceMs
      ? []
      : [`expected SHUTDOWN_GRACE_MS (${drainMs}) to be less than stop_grace_period (${graceMs} ms)`]),
    ...(restart === "unless-stopped" ? [] : [`expected restart unless-stopped, got ${restart}`]),
  ];
}

/** Who is reached where he listens. */
function portProblems({ services }: Compose): string[] {
  const { environment: web = {}, ports = [] } = services["web"] ?? {};
  const port = web["WEB_PORT"] ?? "";
  const asked = services["worker-general"]?.environment?.["WORKFLOW_BRIDGE_URL"] ?? "";
  const magic = Object.keys(web).filter((name) => /^SERVICE_(?:URL|FQDN)_/.test(name));
  return [
    ...(asked === `http://web:${port}` ? [] : [`worker-general: expected WORKFLOW_BRIDGE_URL to be http://web:${port}, got ${asked}`]),
    ...ports.filter((entry) => !entry.endsWith(`:${port}`)).map((entry) => `web: expected port ${port} to be published, got ${entry}`),
    ...ports
      .filter((entry) => !LOOPBACK.test(entry))
      .map(
        (entry) =>
          `web: expected its port to be published on 127.0.0.1 unless somebody says otherwise, got ${entry}: Docker opens it past the firewall; write \${PUBLISH_WEB_AT:-127.0.0.1:${port}}:${port}`,
      ),
    ...magic.filter((name) => name !== `SERVICE_URL_WEB_${port}`).map((name) => `web: expected SERVICE_URL_WEB_${port}, got ${name}`),
  ];
}
