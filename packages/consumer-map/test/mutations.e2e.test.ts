import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CONSUMER_MAP } from "../src/map.ts";
import { listProofs } from "../src/proofs.ts";
import { askGates, checkAsCi, deleteEntry, findReasons, proveAll, withoutEntry } from "./map-in-copy.ts";
import { copyRepository, removeFile } from "./repository-copy.ts";

const GREEN = { state: "green", reasons: [] };

describe("in a copy of the repository in which everything was proven", () => {
  let copy = "";
  beforeAll(async () => {
    copy = copyRepository();
    await proveAll(copy);
  });
  afterAll(() => rmSync(copy, { recursive: true }));

  test("CI's check and the gate are green", async () => {
    expect(await checkAsCi(copy)).toMatchObject({ code: 0 });
    expect(await askGates(copy)).toMatchObject([GREEN]);
  });

  test("deleting any entry of the map turns the gate red, and names the consumer", async () => {
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

  test("deleting an entry turns CI's check red", async () => {
    const undo = deleteEntry(join(copy, "packages/consumer-map/src/map.ts"), "audit-append");
    const { code, lines } = await checkAsCi(copy);
    expect([code, lines]).toEqual([1, expect.arrayContaining(["The consumer audit-append is not on the map."])]);
    undo();
  });

  test("deleting the tests of any consumer, or the inventory's, leaves the map unproven, and names them", async () => {
    const proofs = listProofs();
    for (const { name, file } of proofs) {
      const undo = removeFile(join(copy, file));
      expect(await findReasons(copy)).toEqual([`${name}: its evidence ${file} is gone`]);
      undo();
    }
    expect(await findReasons(copy)).toEqual([]);
    expect(proofs.length).toBeGreaterThan(15);
  });

  test("deleting the tests of a consumer turns CI's check and the gate red", async () => {
    const { file } = CONSUMER_MAP["audit-append"].evidence;
    const undo = removeFile(join(copy, file));
    const sentence = `audit-append: its evidence ${file} is gone`;
    const { code, lines } = await checkAsCi(copy);
    expect([code, lines]).toEqual([1, expect.arrayContaining([sentence])]);
    expect(await askGates(copy)).toMatchObject([{ state: "red", reasons: [sentence] }]);
    undo();
  });
});
