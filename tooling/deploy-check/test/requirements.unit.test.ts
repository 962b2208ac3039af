import { describe, expect, test } from "vitest";
import { COMPOSE_FILES, doctored, problemsOf } from "./support.ts";

/** One thing of a compose file written otherwise, and what is said of it. */
type Mutation = readonly [what: string, part: string | RegExp, instead: string, problem: string];

const MAIL = "  worker-mail:\n    <<: *app\n";
const MAIL_ENV = "      WORKER_QUEUE_GROUP: mail\n";
const WAITS = "    migrate: { condition: service_completed_successfully }\n";

const OF_EVERY_FILE: readonly Mutation[] = [
  [
    "nobody who drains",
    'OUTBOX_DISPATCHER_ENABLED: "true"',
    'OUTBOX_DISPATCHER_ENABLED: "false"',
    "worker-general: expected OUTBOX_DISPATCHER_ENABLED to be true, got false: ",
  ],
  [
    "a drainer that nobody expects",
    `${MAIL_ENV}      OUTBOX_DISPATCHER_ENABLED: "false"`,
    `${MAIL_ENV}      OUTBOX_DISPATCHER_ENABLED: "true"`,
    "worker-mail: expected OUTBOX_DISPATCHER_ENABLED to be false, got true: ",
  ],
  [
    "a web that only its own container reaches",
    "WEB_HOST: 0.0.0.0",
    "WEB_HOST: 127.0.0.1",
    "web: expected WEB_HOST to be 0.0.0.0, got 127",
  ],
  ["metrics that nobody reaches", "HEALTH_HOST: 0.0.0.0", "HEALTH_HOST: 127.0.0.1", "web: expected HEALTH_HOST to be 0.0.0.0, got 127"],
  ["a health port that nobody knows", 'HEALTH_PORT: "9464"', 'HEALTH_PORT: "0"', "worker-mail: expected HEALTH_PORT to be 9464, got 0: "],
  [
    "a health port of its own",
    MAIL_ENV,
    `${MAIL_ENV}      HEALTH_PORT: "9999"\n`,
    "worker-mail: expected HEALTH_PORT to be 9464, got 9999: ",
  ],
  [
    "a health port that somebody gives",
    'HEALTH_PORT: "9464"',
    "HEALTH_PORT: ${HEALTH_PORT:-0}",
    "web: expected HEALTH_PORT to be 9464, got ${HEALTH_PORT:-0}: ",
  ],
  ["a developer's machine", "NODE_ENV: production", "NODE_ENV: development", "web: expected NODE_ENV to be production, got development: "],
  [
    "another queue for one program",
    MAIL_ENV,
    `${MAIL_ENV}      QUEUE_PREFIX: "{mail}"\n`,
    "expected QUEUE_PREFIX to be the same in every program, got {toolctrl} (worker-general",
  ],
  [
    "another Redis for one program",
    MAIL_ENV,
    `${MAIL_ENV}      REDIS_URL: \${REDIS_URL:-redis://other:6379}\n`,
    "expected REDIS_URL to be the same in every program, got ",
  ],
  [
    "another database for one program",
    MAIL_ENV,
    `${MAIL_ENV}      DATABASE_URL: \${DATABASE_URL:?other}\n`,
    "expected DATABASE_URL to be the same in every program, got ",
  ],
  [
    "a database for LISTEN that one program has alone",
    MAIL_ENV,
    `${MAIL_ENV}      DATABASE_DIRECT_URL: postgres://a:b@elsewhere.example.com/c\n`,
    "expected DATABASE_DIRECT_URL to be the same in every program, got ",
  ],
  [
    "an executor that the other side does not know of",
    /(WEB_PORT: "3000"\n +WORKFLOW_EXECUTOR: )hybrid/,
    "$1native",
    "expected WORKFLOW_EXECUTOR to be the same in every program, got hybrid (worker-general",
  ],
  [
    "a bridge with two secrets",
    /(WEB_PORT: "3000"\n.+\n +WORKFLOW_BRIDGE_SECRET: ).+/,
    "$1${WORKFLOW_BRIDGE_SECRET:?other}",
    "expected WORKFLOW_BRIDGE_SECRET to be the same in every program, got ",
  ],
  ["another image for one program", MAIL, `${MAIL}    image: toolctrl:old\n`, "expected every program to run the same image, got "],
  [
    "a Redis that is no service",
    /REDIS_URL: .+/,
    "REDIS_URL: redis://cache:6379",
    "worker-general: expected REDIS_URL to name a service of the file, got cache: ",
  ],
  [
    "a Redis with a user that is no service",
    /REDIS_URL: .+/,
    "REDIS_URL: redis://default@cache?family=6",
    "worker-general: expected REDIS_URL to name a service of the file, got cache: ",
  ],
  [
    "a database that is no service",
    /DATABASE_URL: .+/,
    "DATABASE_URL: postgres://toolctrl:secret@db:5432/toolctrl",
    "migrate: expected DATABASE_URL to name a service of the file, got db: ",
  ],
  [
    "a service to wait for that is not there",
    WAITS,
    `${WAITS}    cache: { condition: service_healthy }\n`,
    "worker-mail: expected a service cache to wait for, got none: ",
  ],
  [
    "a wait for health that nobody asks for",
    WAITS,
    "    migrate: { condition: service_healthy }\n",
    "worker-mail: expected migrate to have a health check, as it is waited for until healthy, got none: ",
  ],
  [
    "a wait for the end of what stays",
    / {2}web:\n {4}<<: \*app\n/,
    "$&    depends_on:\n      migrate: { condition: service_completed_successfully }\n      worker-mail: { condition: service_completed_successfully }\n",
    "web: expected worker-mail to end, as it is waited for until then, got restart unless-stopped: ",
  ],
  [
    "services that wait for each other",
    MAIL,
    `${MAIL}    depends_on:\n      migrate: { condition: service_completed_successfully }\n      worker-mail: { condition: service_healthy }\n`,
    "worker-mail: expected it to wait for nobody who waits for it, got worker-mail: ",
  ],
  [
    "a volume that is declared nowhere",
    MAIL,
    `${MAIL}    volumes: ["spool:/spool"]\n`,
    "worker-mail: expected the volume spool to be declared, got none: ",
  ],
];

const OF_THE_PLAIN_FILE: readonly Mutation[] = [
  ["a Redis that forgets at a restart", '"--appendonly", "yes", ', "", "redis: expected --appendonly yes, got none: "],
  ["a Redis that evicts jobs", '"noeviction"', '"allkeys-lru"', "redis: expected --maxmemory-policy noeviction, got allkeys-lru: "],
  ["a Redis without a command", / {4}command: \["redis-server".+\n/, "", "redis: expected --appendonly yes, got none: "],
  ["a Redis without a volume", / {4}volumes:\n {6}- redis:\/data\n/, "", "redis: expected a volume at /data, got none: "],
  [
    "a Redis whose volume is elsewhere",
    "redis:/data",
    "redis:/var/lib/redis",
    "redis: expected a volume at /data, got redis:/var/lib/redis: ",
  ],
  [
    "a PostgreSQL without a volume",
    / {4}volumes:\n {6}- postgres:.+\n/,
    "",
    "postgres: expected a volume at /var/lib/postgresql, got none: ",
  ],
  [
    "a PostgreSQL whose volume is where older versions have it",
    "postgres:/var/lib/postgresql\n",
    "postgres:/var/lib/postgresql/data\n",
    "postgres: expected a volume at /var/lib/postgresql, got postgres:/var/lib/postgresql/data: ",
  ],
  [
    "an older PostgreSQL whose volume is where newer versions have it",
    "postgres:18-bookworm",
    "postgres:17-bookworm",
    "postgres: expected a volume at /var/lib/postgresql/data, got postgres:/var/lib/postgresql: ",
  ],
  [
    "a PostgreSQL of no version",
    "postgres:18-bookworm",
    "postgres:bookworm",
    "postgres: expected an image postgres:<version>…, got postgres:",
  ],
  [
    "a volume for the data that is declared nowhere",
    "volumes:\n  postgres: {}\n  redis: {}\n",
    "",
    "postgres: expected the volume postgres to be declared, got none: ",
  ],
  [
    "another database than is made",
    "POSTGRES_DB: toolctrl",
    "POSTGRES_DB: other",
    "postgres: expected POSTGRES_DB to be toolctrl, got other: ",
  ],
  [
    "another user than is made",
    "POSTGRES_USER: toolctrl",
    "POSTGRES_USER: other",
    "postgres: expected POSTGRES_USER to be toolctrl, got other: ",
  ],
  [
    "another password than is set",
    /POSTGRES_PASSWORD: .+/,
    "POSTGRES_PASSWORD: ${OTHER:?}",
    "postgres: expected POSTGRES_PASSWORD to be ${POSTGRES_PASSWORD:?expected a password of letters and digits}, got ${OTHER:?}: ",
  ],
  [
    "a PostgreSQL that is killed in its last checkpoint",
    /( {4}# Time for its last checkpoint\.\n) {4}stop_grace_period: 2m\n/,
    "$1",
    "postgres: expected a stop_grace_period of 30 s or more, got none: ",
  ],
  [
    "a Redis that is killed while it writes",
    "    stop_grace_period: 30s\n\n  migrate",
    "    stop_grace_period: 5s\n\n  migrate",
    "redis: expected a stop_grace_period of 30 s or more, got 5 s: ",
  ],
  [
    "a server that stays away after a reboot",
    "image: redis:7.4-bookworm\n    restart: unless-stopped",
    'image: redis:7.4-bookworm\n    restart: "no"',
    "redis: expected restart unless-stopped, got no: ",
  ],
  [
    "a migrate that waits for nobody",
    "    depends_on:\n      postgres: { condition: service_healthy }\n",
    "",
    "migrate: expected it to wait until postgres is healthy, got no such wait: ",
  ],
  [
    "a migrate that waits for a service that is not there",
    "      postgres: { condition: service_healthy }\n",
    "      postgresql: { condition: service_healthy }\n",
    "migrate: expected a service postgresql to wait for, got none: ",
  ],
  [
    "workers that do not wait for Redis",
    "    redis: { condition: service_healthy }\n",
    "",
    "worker-mail: expected it to wait until redis is healthy, got no such wait: ",
  ],
  [
    "a Redis that is not asked whether it lives",
    / {4}healthcheck:\n {6}test: \["CMD", "redis-cli", "ping"\]\n( {6}.+\n)+/,
    "",
    "worker-mail: expected redis to have a health check, as it is waited for until healthy, got none: ",
  ],
  [
    "a web that the whole network reaches",
    "${PUBLISH_WEB_AT:-127.0.0.1:3000}:3000",
    "3000:3000",
    "web: expected its port to be published on 127.0.0.1 unless somebody says otherwise, got 3000:3000: ",
  ],
  [
    "a web that the whole network reaches by default",
    "${PUBLISH_WEB_AT:-127.0.0.1:3000}:3000",
    "${PUBLISH_WEB_AT:-3000}:3000",
    "web: expected its port to be published on 127.0.0.1 unless somebody says otherwise, got ${PUBLISH_WEB_AT:-3000}:3000: ",
  ],
];

describe.each(COMPOSE_FILES)("the compose file %s is refused, with what to do, for", (file) => {
  test.each([...OF_EVERY_FILE, ...(file === "plain" ? OF_THE_PLAIN_FILE : [])])("%s", (_what, part, instead, problem) => {
    const said = problemsOf(file, doctored(file, part, instead)).join("\n");
    expect(said).toContain(problem);
  });
});
