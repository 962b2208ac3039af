import { join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { expect, test } from "vitest";
import { publishExportsOf, withPublishExports } from "../src/publish-exports.ts";
import { listLibraries } from "../src/repository.ts";

const libraries = listLibraries();

test.each(libraries)(
  "$folder is packed with the exports that it has here, without their sources; -u writes them",
  async ({ folder, text }) => {
    await expect(withPublishExports(text)).toMatchFileSnapshot(join(ROOT, folder, "package.json"));
  },
);

test("each library says which files it packs: those that are built, and what they read", () => {
  expect(libraries.length).toBeGreaterThan(10);
  const files = libraries.map(({ manifest }) => [manifest.name, manifest.files]);
  const others = { "@toolctrl/db": ["dist", "prisma"], "@toolctrl/consumer-map": ["dist", "evidence.json"] };
  expect(Object.fromEntries(files)).toEqual({
    ...Object.fromEntries(libraries.map(({ manifest }) => [manifest.name, ["dist"]])),
    ...others,
  });
});

test("published exports lead to what is built, and to no source", () => {
  const exports = { "./a": { source: "./src/a.ts", types: "./dist/a.d.ts", default: "./dist/a.js" }, "./b": "./dist/b.js" };
  const published = publishExportsOf({ name: "a", version: "1.0.0", exports });
  expect(JSON.stringify(published)).toBe('{"./a":"./dist/a.js","./b":"./dist/b.js"}');
});
