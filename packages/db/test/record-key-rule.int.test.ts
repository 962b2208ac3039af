import fc from "fast-check";
import { recordKeyOf } from "@toolctrl/foundation/record-key";
import { expect, test } from "vitest";
import { publishOutboxEvent, type OutboxEventInput } from "../src/outbox.ts";
import { openDatabase, rowsOf, TENANT } from "./support.ts";

const storable = (text: string): string => text.toWellFormed().replaceAll("\u0000", "");
const text = fc.string({ unit: "binary", maxLength: 12 }).map(storable);

/** Near the rule's edges: names that just fit or just do not, ids around the longest, and whatever else JSON knows. */
const name = fc.oneof(
  fc.stringMatching(/^[A-Za-z][A-Za-z0-9_-]{0,12}$/),
  fc.constantFrom(
    "Lead",
    "Lead\n",
    "\nLead",
    "Lead ",
    "Lead/x",
    "é",
    "Lé",
    "Ⅷ",
    "ſ",
    "K",
    "l".repeat(64),
    "l".repeat(65),
    "",
    "-a",
    "_a",
    "a-",
    "9a",
  ),
  text,
);
const id = fc.oneof(
  text,
  fc.constantFrom("", " ", "\n", "a/b", "😀", "e\u0301", "\ufeff", "x".repeat(190), "x".repeat(191), "😀".repeat(190), "😀".repeat(191)),
  fc.uuid(),
);
const other = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
  fc.array(text, { maxLength: 2 }),
  fc.dictionary(text, text, { maxKeys: 2 }),
);
const named = fc.record(
  { object: fc.oneof({ weight: 4, arbitrary: name }, other), recordId: fc.oneof({ weight: 4, arbitrary: id }, other) },
  { requiredKeys: [] },
);
const payload = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.tuple(fc.dictionary(text, fc.oneof(text, other), { maxKeys: 3 }), named).map(([rest, own]) => ({ ...rest, ...own })),
  },
  other,
  text,
);

const EVENT_ID = "0190a0a0-0000-7000-8000-00000000000a";

test("the rule in SQL and the rule in TypeScript give the same key for every payload that can be stored", async () => {
  const db = await openDatabase();
  const keys = `SELECT "outboxRecordKey"(p, $2::uuid) AS "key" FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS t(p, place) ORDER BY place`;
  let keyed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(payload, { minLength: 50, maxLength: 100 }), async (payloads) => {
      const inTypeScript = payloads.map((value) => recordKeyOf(value));
      keyed += inTypeScript.filter((key) => key !== null).length;
      const inSql = await rowsOf(db, keys, [JSON.stringify(payloads), EVENT_ID]);
      expect(inSql.map((row) => row["key"])).toEqual(inTypeScript.map((key) => key ?? EVENT_ID));
    }),
    { numRuns: 60 },
  );
  // Not vacuous: a good part of the payloads has a key.
  expect(keyed).toBeGreaterThan(300);
});

test("what is published carries the key that the trigger would have derived", async () => {
  const db = await openDatabase();
  const objects = fc.oneof(named, fc.dictionary(text, text, { maxKeys: 3 }));
  await fc.assert(
    fc.asyncProperty(objects, async (value) => {
      const event = { tenantId: TENANT, type: "shop.order.place", payload: value as OutboxEventInput["payload"] };
      const { id: eventId } = await db.prisma.$transaction((tx) => publishOutboxEvent(tx, event));
      const [row] = await rowsOf(
        db,
        `SELECT "recordKey", "outboxRecordKey"("payload", "id") AS "derived" FROM "OutboxEvent" WHERE "id" = $1`,
        [eventId],
      );
      expect(row?.["recordKey"]).toBe(row?.["derived"]);
    }),
    { numRuns: 60 },
  );
});
