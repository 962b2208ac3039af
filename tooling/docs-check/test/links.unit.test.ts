import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { withoutCodeBlocks } from "../src/code-blocks.ts";
import { anchorsOf, brokenLinks, linksOf } from "../src/links.ts";
import { listDocuments, listFiles, readText, ROOT } from "../src/repository.ts";

const documents = listDocuments();

test("every relative link of every document leads to a file, and to a heading where it names one", () => {
  expect(documents).toContain("README.md");
  expect(documents.flatMap((path) => brokenLinks(path))).toEqual([]);
});

test("a link to a missing file, a missing heading, or out of the repository is found", () => {
  const text = "# A b\n[one](gone.md) [two](#a-b) [three](#c)\n```\n[code](gone.md)\n```\n[four](README.md#nothing) [five](../x.md)\n";
  expect(brokenLinks("X.md", text)).toEqual([
    "X.md:2: gone.md is not there",
    "X.md:2: #c has no heading #c",
    "X.md:6: README.md#nothing has no heading #nothing",
    "X.md:6: ../x.md leaves the repository",
  ]);
});

test("anchors are made as code hosts make them", () => {
  expect(anchorsOf("# What `DONE` means\n## A, b & c\n## A, b & c\n```\n# code\n```\n### [x](y.md) (z)")).toEqual([
    "what-done-means",
    "a-b--c",
    "a-b--c-1",
    "x-z",
  ]);
});

test("the links of `Follow one event` name functions that their files export", () => {
  const section = readText("README.md").split("## Follow one event")[1]?.split("\n## ")[0] ?? "";
  const steps = linksOf(section);
  expect(steps).toHaveLength(6);
  for (const { text, target } of steps) {
    const name = text.replaceAll("`", "");
    expect(readText(target), target).toMatch(new RegExp(`^export (?:async )?(?:function|const) ${name}\\b`, "m"));
  }
});

test("every file that a document names in its prose is there", () => {
  const gone = documents.flatMap((path) =>
    [...withoutCodeBlocks(readText(path)).matchAll(/`((?:[\w.@-]+\/)+[\w.-]+\.(?:ts|mjs|md|json|sql|prisma))`/g)].flatMap(
      ([, file = ""]) => {
        const found = [ROOT, join(ROOT, dirname(path))].some((folder) => existsSync(join(folder, file)));
        return found || file.includes("<") ? [] : [`${path}: ${file}`];
      },
    ),
  );
  expect(gone).toEqual([]);
});

test("every document that code, messages and settings name is there", () => {
  const sources = listFiles("{apps,packages,tooling}/*/{src,test}/**/*.{ts,mjs}").filter((path) => !path.startsWith("tooling/docs-check/"));
  const gone = sources.flatMap((path) =>
    [...readText(path).matchAll(/docs\/(?:adr|guides|reference)\/[\w-]+\.md/g)].flatMap(([file]) =>
      existsSync(join(ROOT, file)) ? [] : [`${path}: ${file}`],
    ),
  );
  expect(gone).toEqual([]);
});
