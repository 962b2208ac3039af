import { QUEUE_NAMES } from "@toolctrl/foundation/queues";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertPrefix, assertQueueName, postgresSchemaOf } from "./names.ts";

const prefix = fc
  .tuple(
    fc.stringMatching(/^[A-Za-z0-9._:-]{0,10}$/),
    fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,60}$/),
    fc.stringMatching(/^[A-Za-z0-9._:-]{0,10}$/),
  )
  .map(([before, tag, after]) => `${before}{${tag}}${after}`);

describe("names", () => {
  it("accepts every queue of the product", () => {
    for (const name of QUEUE_NAMES) expect(() => assertQueueName(name)).not.toThrow();
  });

  it.each(["crm:lead", "", ":", "a b", "-a", "x".repeat(200), 7, undefined])("refuses the queue name %j", (name) => {
    expect(() => assertQueueName(name)).toThrow(expect.objectContaining({ code: "QUEUE.NAME" }) as Error);
  });

  it.each(["toolctrl", "{}", "{a", "a}", "{a}{b}", "{a b}", "", "{:}", undefined])(
    "refuses the prefix %j, which is not hash-tagged",
    (value) => {
      expect(() => assertPrefix(value)).toThrow(expect.objectContaining({ code: "QUEUE.PREFIX" }) as Error);
    },
  );

  it("makes a valid and different schema name of every prefix", () => {
    expect(postgresSchemaOf("{toolctrl}")).toBe("bullmq_toolctrl");
    expect(postgresSchemaOf("{a-b}")).not.toBe(postgresSchemaOf("{a_b}"));
    fc.assert(
      fc.property(prefix, prefix, (a, b) => {
        expect(postgresSchemaOf(a)).toMatch(/^[a-z_][a-z0-9_]{0,62}$/);
        expect(postgresSchemaOf(a) === postgresSchemaOf(b)).toBe(a === b);
      }),
    );
  });
});
