import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The sources that say a text, without the generated client and the table of errors, whose hints name settings. */
function sourcesWith(pattern: RegExp): string[] {
  const sources = globSync("{apps,packages}/*/src/**/*.ts", { cwd: ROOT, exclude: (path) => /generated|node_modules/.test(path) });
  return sources.filter((path) => pattern.test(readFileSync(join(ROOT, path), "utf8")) && !path.endsWith("/error-codes.ts")).sort();
}

test("the key of stored credentials is read by the web app, and by no other program", () => {
  const found = sourcesWith(/WORKFLOW_CREDENTIALS_KEY/);
  expect(found).toContain("apps/web/src/web-env.ts");
  expect(found.filter((path) => !path.startsWith("apps/web/src/"))).toEqual([]);
});

test("stored credentials are read by the web app, and by no other program", () => {
  const found = sourcesWith(/"WorkflowCredential"|workflowCredential/);
  expect(found).toContain("apps/web/src/credentials/create-credential-source.ts");
  expect(found.filter((path) => !path.startsWith("apps/web/src/"))).toEqual([]);
});
