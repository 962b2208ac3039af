import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConsumerName } from "@toolctrl/foundation/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSUMER_MAP, type Protection } from "../src/map.ts";
import { listProofs } from "../src/proofs.ts";
import { askGates, checkAsCi, deleteEntry, findReasons, proveAll, withoutEntry } from "./map-in-copy.ts";
import { PROTECTION_REMOVALS } from "./protections.ts";
import { copyRepository, removeFile, replaceOnce, runTests } from "./repository-copy.ts";

/** Each starts programs, and some run tests, on a machine that may be busy. */
const SLOW = { timeout: 300_000 };

const GREEN = { state: "green", reasons: [] };

describe("in a copy of the repository in which everything was proven", () => {
  let copy = "";
  beforeAll(async () => {
    copy = copyRepository();
    await proveAll(copy);
  });
  afterAll(() => rmSync(copy, { recursive: true }));

  test("CI's check and the gate are green", SLOW, async () => {
    expect(await checkAsCi(copy)).toMatchObject({ code: 0 });
    expect(await askGates(copy)).toMatchObject([GREEN]);
  });

  test("deleting any entry of the map turns the gate red, and names the consumer", SLOW, async () => {
    const names = Object.keys(CONSUMER_MAP);
    const answers = await askGates(
      copy,
      names.map((name) => withoutEntry(copy, name)),
    );
    expect(answers).toEqual(
      names.map((name) => ({
        folder: `src-without-${name}`,
        state: "red",
        reasons: expect.arrayContaining([`The consumer ${name} is not on the map.`]),
      })),
    );
  });

  test("deleting an entry turns CI's check red", SLOW, async () => {
    const undo = deleteEntry(join(copy, "packages/consumer-map/src/map.ts"), "audit-append");
    const { code, lines } = await checkAsCi(copy);
    expect([code, lines]).toEqual([1, expect.arrayContaining(["The consumer audit-append is not on the map."])]);
    undo();
  });

  test("deleting the tests of any consumer, or the inventory's, leaves the map unproven, and names them", SLOW, async () => {
    const proofs = listProofs();
    for (const { name, file } of proofs) {
      const undo = removeFile(join(copy, file));
      expect(await findReasons(copy)).toEqual([`${name}: its evidence ${file} is gone`]);
      undo();
    }
    expect(await findReasons(copy)).toEqual([]);
    expect(proofs.length).toBeGreaterThan(15);
  });

  test("deleting the tests of a consumer turns CI's check and the gate red", SLOW, async () => {
    const { file } = CONSUMER_MAP["audit-append"].evidence;
    const undo = removeFile(join(copy, file));
    const sentence = `audit-append: its evidence ${file} is gone`;
    const { code, lines } = await checkAsCi(copy);
    expect([code, lines]).toEqual([1, expect.arrayContaining([sentence])]);
    expect(await askGates(copy)).toMatchObject([{ state: "red", reasons: [sentence] }]);
    undo();
  });

  test.each(Object.entries(PROTECTION_REMOVALS))("taking a consumer's %s away makes its evidence stale", async (_, removal) => {
    const undo = replaceOnce(join(copy, removal.file), removal.find, removal.put);
    expect(await findReasons(copy)).toContainEqual(expect.stringContaining(`${removal.consumer}: its sources have changed since`));
    undo();
  });
});

describe("in a copy of the repository, its tests run again", () => {
  let copy = "";
  beforeAll(async () => {
    copy = copyRepository();
    await proveAll(copy);
  });
  afterAll(() => rmSync(copy, { recursive: true }));

  function take(protection: Protection): { consumer: ConsumerName; file: string } {
    const { consumer, file, find, put } = PROTECTION_REMOVALS[protection];
    replaceOnce(join(copy, file), find, put);
    const { evidence } = CONSUMER_MAP[consumer];
    return { consumer, file: evidence.file };
  }

  test(
    "without the receipt of a consumer, and with tests that do not run, the evidence says which, and CI's check and the gate are red",
    SLOW,
    async () => {
      const robbed = take("transactional-receipt");
      const only = stub(copy, "notification-create", (tests) => `${tests} test.only("elsewhere", () => expect(1).toBe(1));`);
      const skipped = stub(copy, "audit-append", (tests) => `${tests} test.skip("later", () => expect(1).toBe(1)); test.todo("some day");`);
      const { code } = await runTests(copy, [robbed.file, only, skipped]);
      expect(code).toBe(1);
      const suite = `${robbed.file} > exactly one effect: ${robbed.consumer}`;
      const reasons = await findReasons(copy);
      expect(reasonsOf(reasons, robbed.consumer)).toEqual([
        `${robbed.consumer}: its evidence ${suite} > killed after each of its outside calls, and inside its handler failed`,
      ]);
      expect(reasonsOf(reasons, "notification-create")).toEqual(
        CONSUMER_MAP["notification-create"].evidence.tests.map(
          (name) => `notification-create: its evidence ${only} > exactly one effect: notification-create > ${name} was skipped`,
        ),
      );
      expect(reasonsOf(reasons, "audit-append")).toEqual(
        ["later", "some day"].map((name) => `audit-append: its evidence ${skipped} > ${name} was skipped`),
      );
      expect(await checkAsCi(copy)).toMatchObject({ code: 1, lines: expect.arrayContaining([...reasons]) });
      expect(await askGates(copy)).toMatchObject([{ state: "red", reasons }]);
    },
  );

  test("without the claim of a consumer its tests fail; and a run of some of them leaves the evidence alone", SLOW, async () => {
    const robbed = take("idempotency-claim");
    const before = await findReasons(copy);
    const { code, lines } = await runTests(copy, [robbed.file, "-t", "delivered twice in sequence"]);
    expect([code, lines]).toEqual([1, expect.arrayContaining([expect.stringMatching(/Tests .*1 failed.*3 skipped/)])]);
    expect(await findReasons(copy)).toEqual(before);
    expect(reasonsOf(before, robbed.consumer)).toEqual([expect.stringContaining("its sources have changed since")]);
  });
});

function reasonsOf(reasons: readonly string[], consumer: string): string[] {
  return reasons.filter((reason) => reason.startsWith(`${consumer}: `));
}

/** Replaces a consumer's tests by ones of the same names that do nothing. @returns their file. */
function stub(copy: string, consumer: "audit-append" | "notification-create", change: (tests: string) => string): string {
  const { file, suite, tests } = CONSUMER_MAP[consumer].evidence;
  const each = tests.map((name) => `test(${JSON.stringify(name)}, () => expect(1).toBe(1));`).join(" ");
  const all = change(`describe(${JSON.stringify(suite)}, () => { ${each} });`);
  writeFileSync(join(copy, file), `import { describe, expect, test } from "vitest"; ${all}`);
  return file;
}
