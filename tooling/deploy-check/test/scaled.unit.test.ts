import { readText } from "@toolctrl/docs-check/repository";
import { beforeAll, expect, test } from "vitest";
import { checkCompose } from "../src/compose/check-compose.ts";
import { fillInValues } from "../src/fill-in-values.ts";
import { loadPrograms, type Program } from "../src/programs.ts";

const TEXT = readText("docker-compose.scaled.yml");
const values = fillInValues({
  DATABASE_DIRECT_URL: "postgres://postgres:secret@postgres.example.com:5432/postgres",
  REDIS_URL: "redis+cluster://:secret@redis-1.example.com:6379?node=redis-2.example.com:6379",
});
let programs: readonly Program[];

beforeAll(async () => {
  const known = await loadPrograms();
  // Works the general queues without draining: the same program, so the same variables.
  programs = known.flatMap((program) =>
    (program.service as string) === "worker-general"
      ? [program, { ...program, service: "worker-consumers" as Program["service"] }]
      : [program],
  );
});

const problemsOf = (text: string, given = values): string[] => checkCompose({ text, platform: "plain", programs, values: given });

test("the compose file for many processes gives each program all that it reads and nothing else, over a Redis Cluster", () => {
  expect(problemsOf(TEXT)).toEqual([]);
});

test("it refuses an address that a cluster cannot have, and to start without one", () => {
  expect(problemsOf(TEXT, { ...values, REDIS_URL: "redis+cluster://h:1/2" }).join()).toContain("worker-mail: REDIS_URL: expected");
  expect(problemsOf(TEXT, { ...values, REDIS_URL: "" }).join()).toContain("REDIS_URL: expected");
});

test("one kind of worker drains, and no container has a port of the host: several could not share it", () => {
  expect(TEXT.match(/OUTBOX_DISPATCHER_ENABLED: "true"/g)).toHaveLength(1);
  expect(TEXT).not.toMatch(/^ +ports:/m);
});
