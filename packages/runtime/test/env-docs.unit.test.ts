import { expect, test } from "vitest";
import { z } from "zod";
import { databaseEnv, describeEnv, outboxEnv, processEnv, queueEnv, receiverEnv, workerEnv } from "../src/env.ts";

const SECTIONS: Array<[title: string, shape: z.ZodRawShape]> = [
  ["Every process", processEnv],
  ["Every process that uses the database", databaseEnv],
  ["Every process that adds or runs jobs", queueEnv],
  ["The drainer (worker-general)", outboxEnv],
  ["Every process that runs consumers", receiverEnv],
  ["worker-general", workerEnv("general")],
  ["worker-mail", workerEnv("mail")],
];

test("every variable says what it is for and what it accepts", () => {
  for (const variable of SECTIONS.flatMap(([, shape]) => describeEnv(shape))) {
    expect(variable, variable.name).toMatchObject({ about: expect.stringMatching(/\w{3}/), accepts: expect.stringMatching(/\w{3}/) });
  }
});

test("a default that the page names is one the schema accepts and gives", () => {
  for (const [, shape] of SECTIONS) {
    for (const { name, fallback } of describeEnv(shape)) {
      const field = shape[name] as z.ZodType;
      const standard = field.safeParse(undefined).data;
      expect(fallback === null ? standard : field.parse(fallback), name).toEqual(standard);
    }
  }
});

test("a field in plain zod is listed with its default and whether it is required", () => {
  const schema = z.object({ SMTP_HOST: z.string().describe("Mail server"), SMTP_PORT: z.coerce.number().default(25) });
  expect(describeEnv(schema)).toEqual([
    { name: "SMTP_HOST", required: true, fallback: null, accepts: "", about: "Mail server" },
    { name: "SMTP_PORT", required: false, fallback: "25", accepts: "", about: "" },
  ]);
});
