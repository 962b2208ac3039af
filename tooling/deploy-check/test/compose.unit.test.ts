import { describe, expect, test } from "vitest";
import type { Compose } from "../src/compose/read-compose.ts";
import { SERVICES } from "../src/programs.ts";
import { FILES } from "./files.ts";
import { COMPOSE_FILES, composeOf, doctored, problemsOf, VALUES } from "./support.ts";

describe.each(COMPOSE_FILES)("the compose file %s", (file) => {
  test("starts what the image has, gives each program all that it reads and nothing else, and lets it drain", () => {
    expect(problemsOf(file)).toEqual([]);
  });

  test("gives the mail server to worker-mail alone, and the key of stored credentials to web alone", () => {
    const { services } = composeOf(file);
    const holders = (name: string): string[] =>
      SERVICES.filter((service) => !["none", undefined, null].includes(services[service]?.environment?.[name]));
    expect(holders("SMTP_URL")).toEqual(["worker-mail"]);
    expect(holders("WEBHOOK_SECRETS_KEY")).toEqual(["worker-mail"]);
    expect(holders("WORKFLOW_CREDENTIALS_KEY")).toEqual(["web"]);
  });

  const CASES: ReadonlyArray<[what: string, part: string | RegExp, instead: string, problem: string]> = [
    [
      "no health check",
      / {2}healthcheck:\n {4}test: .+\n( {4}.+\n)+(?= {2}depends_on)/,
      "",
      "worker-mail: expected a health check by node",
    ],
    [
      "a health check by curl",
      `["CMD", "node", "health.mjs"]`,
      `["CMD", "curl", "-f", "http://127.0.0.1:9464"]`,
      "which is all that the image has",
    ],
    ["a health check by a shell", `["CMD", "node", "health.mjs"]`, `["CMD-SHELL", "node health.mjs"]`, "CMD-SHELL needs a shell"],
    ["a health check of a file that is not there", `"health.mjs"]`, `"healthy.mjs"]`, "expected the health check to run a file of deploy"],
    [
      "a health check that asks the servers",
      `"health.mjs"]`,
      `"health.mjs", "/readyz"]`,
      "expected the health check to ask for life alone",
    ],
    ["no time to start", "start_period: 60s\n  depends_on", "start_period: 5s\n  depends_on", "expected a start_period"],
    [
      "ports on a worker",
      /( {2}worker-mail:\n {4}<<: \*app\n)/,
      `$1    ports: ["9464:9464"]\n`,
      "worker-mail: expected no ports, got 9464:9464",
    ],
    ["a container name", /( {2}worker-general:\n)/, "$1    container_name: worker\n", "services.worker-general: Unrecognized key"],
    [
      "a command in one text",
      `["node_modules/@toolctrl/web/dist/main.js"]`,
      "node node_modules/@toolctrl/web/dist/main.js",
      "services.web.command: expected a list of words",
    ],
    [
      "a package manager in front",
      `["node_modules/@toolctrl/web/dist/main.js"]`,
      `["pnpm", "start"]`,
      "web: expected it to start node_modules/@toolctrl/web/dist/main.js, got pnpm",
    ],
    [
      "another program's file",
      "@toolctrl/worker-mail/dist",
      "@toolctrl/worker-general/dist",
      "worker-mail: expected it to start node_modules/@toolctrl/worker-mail",
    ],
    ["a missing variable", / {2}QUEUE_BACKEND: redis\n/, "", "worker-general: expected QUEUE_BACKEND, got none"],
    ["a missing secret", / {6}WEBHOOK_SECRETS_KEY: .+\n/, "", "worker-mail: expected WEBHOOK_SECRETS_KEY, got none"],
    [
      "somebody else's secret",
      /( +)WORKER_QUEUE_GROUP: general\n/,
      "$&$1SMTP_URL: ${SMTP_URL:?}\n",
      "worker-general: expected no SMTP_URL",
    ],
    [
      "a default of its own",
      "${OUTBOX_MAX_RETRIES:-6}",
      "${OUTBOX_MAX_RETRIES:-60}",
      "expected the default of OUTBOX_MAX_RETRIES to be 6, got 60",
    ],
    ["a required variable that may be empty", /\$\{MAIL_FROM:\?[^}]*\}/, "${MAIL_FROM:-}", "worker-mail: expected ${MAIL_FROM:?…}"],
    [
      "a value that the program refuses",
      "WORKER_QUEUE_GROUP: mail",
      "WORKER_QUEUE_GROUP: general",
      "worker-mail: WORKER_QUEUE_GROUP: expected mail",
    ],
    [
      "values that do not go together",
      "${OUTBOX_RESULT_TTL_SECONDS:-86400}",
      '"60"',
      "worker-general: OUTBOX_RESULT_TTL_SECONDS: expected",
    ],
    [
      "a drain longer than the grace period",
      "stop_grace_period: 30s\n  healthcheck",
      "stop_grace_period: 10s\n  healthcheck",
      "expected SHUTDOWN_GRACE_MS (25000) to be less",
    ],
    ["a migration that is repeated", `restart: "no"`, "restart: unless-stopped", `migrate: expected restart "no", got unless-stopped`],
    [
      "programs that do not wait for the migration",
      "{ condition: service_completed_successfully }",
      "{ condition: service_healthy }",
      "worker-general: expected it to wait for migrate",
    ],
    [
      "a bridge to another port",
      "WORKFLOW_BRIDGE_URL: http://web:3000",
      "WORKFLOW_BRIDGE_URL: http://web:8080",
      "expected WORKFLOW_BRIDGE_URL to be http://web:3000",
    ],
    ["no migrate", / {2}migrate:\n( {4}.+\n)+/, "", "services: expected migrate, got none"],
  ];

  test.each(CASES)("with %s is found out", (_what, part, instead, problem) => {
    expect(problemsOf(file, doctored(file, part, instead)).join("\n")).toContain(problem);
  });

  test("asks for every variable without a default: Compose refuses to start without it", () => {
    const asked = [...new Set([...FILES[file].matchAll(/\$\{(\w+):\?/g)].map(([, name = ""]) => name))];
    expect(asked.length).toBeGreaterThan(3);
    const silent = asked.filter(
      (name) =>
        !problemsOf(file, FILES[file], { ...VALUES[file], [name]: "" })
          .join("\n")
          .includes(`${name}: expected`),
    );
    expect(silent).toEqual([]);
  });
});

test("what Coolify alone knows is only in its own file, and it has it", () => {
  expect(problemsOf("coolify", doctored("coolify", / {4}exclude_from_hc: true\n/, ""))).toContain(
    "migrate: expected exclude_from_hc, got none",
  );
  expect(problemsOf("plain", doctored("plain", `restart: "no"`, `restart: "no"\n    exclude_from_hc: true`)).join()).toContain(
    "which Compose refuses",
  );
  expect(problemsOf("coolify", doctored("coolify", "  SMTP_URL: none\n", "")).join()).toContain(
    "web: expected no SMTP_URL but the word none",
  );
  expect(problemsOf("coolify", doctored("coolify", "${MAIL_FROM:?}", "${MAIL_FROM:?expected one}")).join()).toContain(
    "got a text after it",
  );
  expect(problemsOf("coolify", doctored("coolify", "SERVICE_URL_WEB_3000:", "SERVICE_URL_WEB_8080:")).join()).toContain(
    "expected SERVICE_URL_WEB_3000",
  );
  expect(problemsOf("coolify", doctored("coolify", /( {2}web:\n)/, `$1    ports: ["3000:3000"]\n`)).join()).toContain(
    "web: expected no ports",
  );
});

test("both files start and ask the programs alike: what is run of one holds for the other", () => {
  const [plain, coolify] = [composeOf("plain"), composeOf("coolify")];
  const alike = ({ services }: Compose) =>
    SERVICES.map((name) => [name, services[name]?.command, services[name]?.healthcheck, services[name]?.stop_grace_period]);
  expect(alike(coolify)).toEqual(alike(plain));
});
