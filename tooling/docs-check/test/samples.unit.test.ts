import { expect, test } from "vitest";
import { exampleOf } from "../src/examples.ts";
import { listPages, readText } from "../src/repository.ts";
import { samplesOf, unheldSamples, type Sample } from "../src/samples.ts";

const samples = samplesOf(listPages());

test("every sample of every page is run by a test, drawn, or listed with what it is there for", () => {
  expect(samples.length).toBeGreaterThan(100);
  expect(unheldSamples(samples)).toEqual([]);
});

test("every json sample is a document", () => {
  const documents = samples.filter(({ language }) => language === "json");
  expect(documents.length).toBeGreaterThan(3);
  for (const { code } of documents) expect(JSON.parse(code)).toBeTypeOf("object");
});

test("a sample that nothing runs is found, whatever it is called", () => {
  const on = (path: string, language: string, code: string): Sample => ({ path, language, code, line: 1 });
  const bad = [
    on("docs/guides/a.md", "ts", "publish();"),
    on("docs/guides/a.md", "sql", "SELECT 1"),
    on("docs/guides/a.md", "", "some output"),
    on("docs/guides/a.md", "json", "{}"),
  ];
  const good = [
    on("docs/guides/a.md", "ts", "consume();"),
    on("docs/guides/a.md", "text", "docker compose up"),
    on("docs/guides/a.md", "", "a ─► b"),
    on("docs/runbooks/a.md", "sql", "SELECT 1"),
  ];
  const found = unheldSamples([...samples, ...bad, ...good], [{ path: "docs/guides/a.md", text: "consume" }]);
  expect(found.filter((line) => line.startsWith("docs/guides/a.md"))).toEqual(
    ["ts", "sql", "no language", "json"].map((name) => `docs/guides/a.md:1: ${name}`),
  );
});

test("the suite that the guide to adding a consumer shows is the one that is run for it, but for where its subject is", () => {
  const suite = readText("apps/worker-general/test/exactly-one-effect/ai-cost-record.e2e.test.ts");
  const lines = suite.split("\n").filter((line) => !line.includes("/subjects/"));
  expect(lines.join("\n").trim()).toBe(exampleOf("docs/guides/add-a-consumer.md", "describeExactlyOneEffect").trim());
});
