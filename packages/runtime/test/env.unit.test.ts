import { isCodedError } from "@toolctrl/foundation/errors";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { databaseEnv, loadEnv, outboxEnv, processEnv, queueEnv, receiverEnv, resolveQueueBackend, workerEnv } from "../src/env.ts";

const everything = z.object({ ...processEnv, ...databaseEnv, ...queueEnv, ...outboxEnv, ...receiverEnv, ...workerEnv("general") });
const least = { DATABASE_URL: "postgres://localhost/app" };

function problemsOf(source: Record<string, string>, schema: z.ZodObject = everything): string[] {
  try {
    loadEnv(schema, source);
  } catch (error) {
    if (isCodedError(error) && error.code === "ENV.INVALID") return error.facts["problems"] as string[];
    throw error;
  }
  return [];
}

function namesOf(problems: string[]): string[] {
  return problems.map((line) => line.slice(0, line.indexOf(":"))).toSorted();
}

describe("loadEnv", () => {
  test("gives every setting of the outbox its documented default", () => {
    expect(loadEnv(z.object(outboxEnv), {})).toEqual({
      OUTBOX_DISPATCHER_ENABLED: false,
      OUTBOX_DISPATCH_INTERVAL_MS: 1000,
      OUTBOX_DISPATCH_BATCH_SIZE: 100,
      OUTBOX_DISPATCH_CONCURRENCY: 10,
      OUTBOX_MAX_RETRIES: 6,
      OUTBOX_DONE_RETENTION_HOURS: 720,
      OUTBOX_DONE_RETENTION_BATCH_SIZE: 1000,
      OUTBOX_RECONCILE_INTERVAL_MS: 60_000,
      OUTBOX_WAKEUP: true,
      OUTBOX_LEASE_MS: 300_000,
      OUTBOX_CRASH_BUDGET: 6,
      OUTBOX_LOCK_TIMEOUT_MS: 2000,
      OUTBOX_PULL_PARALLELISM: 10,
      OUTBOX_PULL_WORKER: "false",
    });
  });

  test("names every problem at once, those over several variables included", () => {
    const problems = problemsOf({
      NODE_ENV: "production",
      LOG_LEVEL: "loud",
      OUTBOX_DISPATCH_BATCH_SIZE: "many",
      OUTBOX_WAKEUP: "",
      OUTBOX_LOCK_TIMEOUT_MS: "9000",
      OUTBOX_LEASE_MS: "5000",
      WORKER_QUEUE_GROUP: "mail",
    });
    expect(namesOf(problems)).toEqual(
      [
        "DATABASE_URL",
        "LOG_LEVEL",
        "OUTBOX_DISPATCH_BATCH_SIZE",
        "OUTBOX_LOCK_TIMEOUT_MS",
        "OUTBOX_WAKEUP",
        "QUEUE_BACKEND",
        "WORKER_QUEUE_GROUP",
      ].toSorted(),
    );
  });

  test.each(["", " ", "abc", "-1", "+5", "1.5", "1e3", "0x10", "007", " 5", "5 ", "١٠", "9999999999999999999", "NaN", "null"])(
    "refuses %j as a number and never takes the default",
    (value) => {
      for (const name of ["OUTBOX_DISPATCH_INTERVAL_MS", "OUTBOX_MAX_RETRIES", "OUTBOX_DONE_RETENTION_BATCH_SIZE", "HEALTH_PORT"]) {
        expect(namesOf(problemsOf({ ...least, [name]: value }))).toEqual([name]);
      }
    },
  );

  test("takes any number inside the bounds and refuses any outside", () => {
    fc.assert(
      fc.property(fc.integer({ min: -10, max: 2_000_000 }), (value) => {
        const problems = problemsOf({ ...least, OUTBOX_DISPATCH_BATCH_SIZE: String(value) });
        return problems.length === (value >= 1 && value <= 10_000 ? 0 : 1);
      }),
    );
  });

  test.each([
    ["0", 1],
    ["1", 1],
    ["10000", 10_000],
    ["20000", 10_000],
  ])("clamps a retention batch size of %s to %i", (value, expected) => {
    expect(loadEnv(everything, { ...least, OUTBOX_DONE_RETENTION_BATCH_SIZE: value }).OUTBOX_DONE_RETENTION_BATCH_SIZE).toBe(expected);
  });

  test("does not print what may hold a password, and prints what cannot", () => {
    const [database, level] = problemsOf({ DATABASE_URL: "mysql://u:hunter2@h/db", LOG_LEVEL: "loud" }).toSorted();
    expect(database).toMatch(/^DATABASE_URL: /);
    expect(database).not.toContain("hunter2");
    expect(level).toContain('"loud"');
    const own = z.object({ SMTP_PASSWORD: z.string().min(20) });
    expect(problemsOf({ SMTP_PASSWORD: "hunter2" }, own).join()).not.toContain("hunter2");
  });

  test("takes a Redis Cluster by its scheme, and refuses at boot what a cluster's client cannot do, without its password", () => {
    const cluster = "redis+cluster://:hunter2@a.test:7000?node=b.test:7001";
    expect(loadEnv(everything, { ...least, REDIS_URL: cluster }).REDIS_URL).toBe(cluster);
    for (const wrong of ["&keyPrefix=a", "&family=6", "&node=c"]) {
      const problems = problemsOf({ ...least, REDIS_URL: `${cluster}${wrong}` });
      expect(namesOf(problems)).toEqual(["REDIS_URL"]);
      expect(problems.join()).not.toContain("hunter2");
    }
  });

  test("takes an empty optional variable as unset, as Compose writes it", () => {
    const env = loadEnv(everything, { ...least, REDIS_URL: "", SENTRY_DSN: "", DATABASE_DIRECT_URL: "", QUEUE_BACKEND: "" });
    expect([env.REDIS_URL, env.SENTRY_DSN, env.DATABASE_DIRECT_URL, env.QUEUE_BACKEND]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  test.each([
    ["https://abc123@o1.ingest.sentry.io/42", 0],
    ["http://public@127.0.0.1:9000/1", 0],
    ["http://public@[::1]:9000/sub/path/1", 0],
    ["https://sentry.io/42", 1],
    ["https://abc@sentry.io", 1],
    ["abc", 1],
  ])("a Sentry DSN of %s has %i problems, as a wrong one would silently send nothing", (dsn, count) => {
    expect(problemsOf({ SENTRY_DSN: dsn }, z.object(processEnv))).toHaveLength(count);
  });

  test("ignores variables the schema does not name", () => {
    expect(loadEnv(z.strictObject(receiverEnv), { PATH: "/bin", OUTBOX_CLAIM_TTL_MS: "500" }).OUTBOX_CLAIM_TTL_MS).toBe(500);
  });

  test("refuses the queue group of another app", () => {
    expect(loadEnv(z.object(workerEnv("mail")), {}).WORKER_QUEUE_GROUP).toBe("mail");
    expect(loadEnv(z.object(workerEnv("mail")), { WORKER_QUEUE_GROUP: "mail" }).WORKER_QUEUE_GROUP).toBe("mail");
    expect(namesOf(problemsOf({ WORKER_QUEUE_GROUP: "general" }, z.object(workerEnv("mail"))))).toEqual(["WORKER_QUEUE_GROUP"]);
  });

  test.each(["toolctrl", "{}", "{a:b}", "a:{b}", ""])(
    "refuses the queue prefix %j, which is not hash-tagged or would break keys",
    (prefix) => {
      expect(namesOf(problemsOf({ ...least, QUEUE_PREFIX: prefix }))).toEqual(["QUEUE_PREFIX"]);
    },
  );
});

describe("resolveQueueBackend", () => {
  const redis = "redis://localhost:7000";

  test.each([
    [{ NODE_ENV: "development" }, "postgres"],
    [{ NODE_ENV: "test", REDIS_URL: redis }, "redis"],
    [{ NODE_ENV: "development", REDIS_URL: redis, QUEUE_BACKEND: "postgres" }, "postgres"],
    [{ NODE_ENV: "production", QUEUE_BACKEND: "postgres" }, "postgres"],
    [{ NODE_ENV: "production", QUEUE_BACKEND: "redis", REDIS_URL: redis }, "redis"],
  ] as const)("%j means %s, and says why", (env, kind) => {
    const chosen = resolveQueueBackend(env);
    expect(chosen.kind).toBe(kind);
    expect(chosen.why).toContain("QUEUE_BACKEND");
  });

  test.each([
    [{ NODE_ENV: "production" }, "QUEUE_BACKEND"],
    [{ NODE_ENV: "production", REDIS_URL: redis }, "QUEUE_BACKEND"],
    [{ NODE_ENV: "development", QUEUE_BACKEND: "redis" }, "REDIS_URL"],
  ] as const)("%j is refused because of %s, at the load already", (env, name) => {
    expect(() => resolveQueueBackend(env)).toThrow(expect.objectContaining({ code: "ENV.INVALID" }));
    expect(namesOf(problemsOf({ ...least, ...env }))).toEqual([name]);
  });
});
