import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { describeConsumerMap } from "../src/describe.ts";
import { CONSUMER_MAP } from "../src/map.ts";
import { placesOf } from "../src/places.ts";
import { createMapProver } from "../src/proof.ts";
import { createProvenPackage } from "../src/testing.ts";

async function openImage(options: Parameters<typeof createProvenPackage>[0] = {}) {
  const { folder, remove } = await createProvenPackage(options);
  onTestFinished(remove);
  return { ...placesOf(folder), prove: createMapProver({ packageFolder: folder }) };
}

describe("in an image, which has no sources", () => {
  test("the map is proven by evidence of the hashes that the build left", async () => {
    const { prove } = await openImage();
    expect(await prove()).toMatchObject({ proven: true, reasons: [] });
  });

  test("evidence of other sources is stale, and the consumer is named with what to run", async () => {
    const { sourceHashes, prove } = await openImage();
    const hashes = JSON.parse(readFileSync(sourceHashes, "utf8")) as Record<string, { sources: string }>;
    writeFileSync(sourceHashes, JSON.stringify({ ...hashes, "audit-append": { ...hashes["audit-append"], sources: "another" } }));
    const { file } = CONSUMER_MAP["audit-append"].evidence;
    const sentence = `audit-append: its sources have changed since its evidence was made (2026-12-02T00:00:00.000Z); run \`pnpm exec vitest run ${file}\``;
    expect(await prove()).toMatchObject({ proven: false, reasons: [sentence] });
  });

  test("without the build's hashes nothing is proven", async () => {
    const { sourceHashes, prove } = await openImage();
    rmSync(sourceHashes);
    const { reasons, proofs } = await prove();
    expect(reasons).toEqual(proofs.map(({ name }) => `${name}: there are neither sources nor their hashes to compare its evidence with`));
  });

  test("a consumer without evidence is named, and all of them where there is none", async () => {
    const one = await openImage({ except: ["form-route"] });
    expect((await one.prove()).reasons).toEqual([expect.stringMatching(/^form-route: nothing shows that it is safe; run /)]);
    const { evidence, prove } = await openImage();
    rmSync(evidence);
    const { reasons, proofs } = await prove();
    expect(reasons).toHaveLength(proofs.length);
  });

  test("evidence that cannot be read is a reason, and read again when it can", async () => {
    const { evidence, prove } = await openImage();
    const before = readFileSync(evidence);
    writeFileSync(evidence, `{ "proofs": 1 }`);
    expect((await prove()).reasons[0]).toMatch(/^The evidence in .+ cannot be read: /);
    writeFileSync(evidence, before);
    expect(await prove()).toMatchObject({ proven: true });
  });
});

test("as JSON, the map has every consumer with its entry and the state of its proof", async () => {
  const { prove } = await openImage({ except: ["form-route"] });
  const { proven, reasons, consumers } = describeConsumerMap(await prove());
  expect([proven, reasons.length]).toEqual([false, 1]);
  expect(Object.fromEntries(consumers.map(({ name, proof }) => [name, proof.reasons.length]))).toEqual({
    ...Object.fromEntries(Object.keys(CONSUMER_MAP).map((name) => [name, 0])),
    "form-route": 1,
  });
  expect(consumers.find(({ name }) => name === "audit-append")).toMatchObject(CONSUMER_MAP["audit-append"]);
});
