import { createNoEmbeddings } from "@toolctrl/domain/rag";
import { describe, expect, test } from "vitest";
import { readEnv } from "../src/env.ts";
import { openEmbeddings } from "../src/open-embeddings.ts";

const BASE = { DATABASE_URL: "postgres://localhost/x" };
const ENDPOINT = { ...BASE, RAG_EMBEDDINGS_URL: "https://models.example/v1/embeddings", RAG_EMBEDDINGS_MODEL: "small" };
const http = { request: () => Promise.reject(new Error("expected no request")) };

/** What is wrong with the variables of this consumer. */
function problemsOf(source: Record<string, string>): string[] {
  try {
    readEnv(source);
    return [];
  } catch (error) {
    return (error as { facts: { problems: string[] } }).facts.problems.filter((line) => line.startsWith("RAG_"));
  }
}

describe("the environment of rag-index", () => {
  test("needs nothing: then documents have no vectors", () => {
    expect(openEmbeddings(readEnv(BASE), http).model).toBe(createNoEmbeddings().model);
  });

  test("names an endpoint and its model", () => {
    expect(openEmbeddings(readEnv(ENDPOINT), http).model).toBe("small");
  });

  test.each([
    ["an endpoint without a model", { ...BASE, RAG_EMBEDDINGS_URL: "https://x.example" }, "RAG_EMBEDDINGS_MODEL: expected a value"],
    ["an endpoint of another protocol", { ...ENDPOINT, RAG_EMBEDDINGS_URL: "ftp://x.example" }, "RAG_EMBEDDINGS_URL: expected a URL"],
    ["a key with a line break", { ...ENDPOINT, RAG_EMBEDDINGS_API_KEY: "sk-secret\nx" }, "RAG_EMBEDDINGS_API_KEY: expected a key"],
    [
      "an overlap of half a chunk",
      { ...BASE, RAG_CHUNK_CHARACTERS: "400", RAG_CHUNK_OVERLAP: "200" },
      "RAG_CHUNK_OVERLAP: expected less than half",
    ],
    [
      "a deadline as long as a claim",
      { ...ENDPOINT, RAG_EMBEDDINGS_DEADLINE_MS: "30000" },
      "RAG_EMBEDDINGS_DEADLINE_MS: expected less than",
    ],
    ["a claim as short as the deadline", { ...ENDPOINT, OUTBOX_CLAIM_TTL_MS: "20000" }, "RAG_EMBEDDINGS_DEADLINE_MS: expected less than"],
  ])("is refused with %s, without its secrets", (_what, source, problem) => {
    const problems = problemsOf(source);
    expect(problems).toEqual([expect.stringContaining(problem)]);
    expect(String(problems)).not.toContain("sk-secret");
  });

  test("lets the claim be shorter than the deadline where there is no endpoint", () => {
    expect(problemsOf({ ...BASE, OUTBOX_CLAIM_TTL_MS: "1500" })).toEqual([]);
  });
});
