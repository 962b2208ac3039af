import { expect, test } from "vitest";
import { listDocuments, readText } from "../src/repository.ts";
import { typeCheckExamples } from "../src/type-check-examples.ts";

test("every ts example of every document fits the code, and a wrong one is found at its line", { timeout: 240_000 }, () => {
  const documents = listDocuments().map((path) => ({ path, text: readText(path) }));
  const wrong = {
    path: "wrong.md",
    text: '# Wrong\n\n```ts\nimport { publishOutboxEvent } from "@toolctrl/db/outbox";\n\nvoid publishOutboxEvent(7);\n```\n',
  };
  const { examples, problems } = typeCheckExamples([...documents, wrong]);
  expect(examples).toBeGreaterThan(8);
  expect(problems).toEqual([expect.stringMatching(/^wrong\.md:6: error TS2554/)]);
});
