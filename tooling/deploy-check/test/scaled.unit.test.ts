import { expect, test } from "vitest";
import { FILES } from "./files.ts";
import { problemsOf, VALUES } from "./support.ts";

const TEXT = FILES.scaled;

test("the compose file for many processes refuses an address that a cluster cannot have, and to start without one", () => {
  expect(problemsOf("scaled", TEXT, { ...VALUES.scaled, REDIS_URL: "redis+cluster://h:1/2" }).join()).toContain(
    "worker-mail: REDIS_URL: expected",
  );
  expect(problemsOf("scaled", TEXT, { ...VALUES.scaled, REDIS_URL: "" }).join()).toContain("REDIS_URL: expected");
});

test("one kind of worker drains, and no container has a port of the host: several could not share it", () => {
  expect(TEXT.match(/OUTBOX_DISPATCHER_ENABLED: "true"/g)).toHaveLength(1);
  expect(TEXT).not.toMatch(/^ +ports:/m);
});
