import { expect, test } from "vitest";
import type { Embeddings } from "../src/rag.ts";

/** What every implementation of the port keeps to. `open` makes one whose requests hold two texts at most. */
export function describeEmbeddings(open: () => Promise<Embeddings>): void {
  test("gives one answer for each text, in their order, over any number of requests", async () => {
    const embeddings = await open();
    const texts = Array.from({ length: 11 }, (_, n) => `text ${n} @${n * 7}`);
    const answers = await embeddings.embed(texts);
    expect(answers).toHaveLength(11);
    for (const [index, text] of texts.entries()) expect(await embeddings.embed([text])).toEqual([answers[index]]);
  });

  test("gives the same text the same answer, also twice at once", async () => {
    const embeddings = await open();
    const [first, other, second] = await embeddings.embed(["same @10", "other @20", "same @10"]);
    expect(second).toEqual(first);
    expect(other === null).toBe(first === null);
  });

  test("gives vectors of one length and of finite numbers, or none at all, as its model says", async () => {
    const embeddings = await open();
    const answers = await embeddings.embed(["one @1", "two @2", "three @3"]);
    expect(answers.map((vector) => vector === null)).toEqual(answers.map(() => embeddings.model === null));
    expect(new Set(answers.map((vector) => vector?.length)).size).toBe(1);
    expect(answers.flat().every((number) => number === null || Number.isFinite(number))).toBe(true);
  });

  test("gives nothing for no texts", async () => {
    expect(await (await open()).embed([])).toEqual([]);
  });
}
