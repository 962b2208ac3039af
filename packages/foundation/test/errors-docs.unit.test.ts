import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { ERROR_CODES } from "../src/errors.ts";

const PAGE = `${import.meta.dirname}/../../../docs/reference/errors.md`;
const codes = Object.entries(ERROR_CODES);

function renderPage(): string {
  const intro = [
    "# Errors",
    "Every coded error of the product: `packages/foundation/src/error-codes.ts`, one line each. An error has a `code`, a message (expected X, got Y), `facts`, and the `fix` below.",
    "*Retry* says whether trying the same thing again, unchanged, can help. Consumers go by it: an error that a retry cannot help ends the delivery at once.",
    "After a change of the table, `pnpm exec vitest run packages/foundation/test/errors-docs.unit.test.ts -u` writes this page again.",
  ];
  const rows = codes.map(([code, { retry, fix }]) => `| \`${code}\` | ${retry ? "yes" : "no"} | ${fix.replaceAll("|", "\\|")} |`);
  return `${intro.join("\n\n")}\n\n| Code | Retry | What to do |\n| --- | --- | --- |\n${rows.join("\n")}\n`;
}

test("docs/reference/errors.md has the line of every code", async () => {
  await expect(renderPage()).toMatchFileSnapshot(PAGE);
});

test("docs/reference/errors.md and the table name the same codes, each once", async () => {
  const page = await readFile(PAGE, "utf8");
  const listed = [...page.matchAll(/^\| `([A-Z_.]+)` \|/gm)].map(([, code]) => code);
  const known = codes.map(([code]) => code);
  expect({
    unknown: listed.filter((code) => !known.includes(code ?? "")),
    missing: known.filter((code) => !listed.includes(code)),
  }).toEqual({ unknown: [], missing: [] });
  expect(new Set(listed).size).toBe(listed.length);
});

test("every code is NAMESPACE.CODE and its fix is a sentence", () => {
  for (const [code, { fix }] of codes) {
    expect(code, code).toMatch(/^[A-Z]+\.[A-Z]+(?:_[A-Z]+)*$/);
    expect(fix, code).toMatch(/^[A-Z].{10,}\.$/);
  }
});
