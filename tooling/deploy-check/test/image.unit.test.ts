import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readText } from "@toolctrl/docs-check/repository";
import { expect, onTestFinished, test } from "vitest";
import { copyFiles } from "../src/image/copy-files.ts";
import { listMissing } from "../src/image/list-missing.ts";
import { listStrangers } from "../src/image/list-strangers.ts";
import { readIgnore } from "../src/image/read-ignore.ts";

async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolctrl-deploy-check-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

test("no secret, history or installed package gets into the context of a build, and the evidence of the tests does", () => {
  const ignore = readIgnore(readText(".dockerignore"));
  const left = [
    ".env",
    ".env.production",
    ".git/config",
    ".data/postgres",
    "node_modules",
    "apps/web/node_modules/zod",
    "packages/db/dist/outbox.js",
  ];
  expect(left.filter((path) => !ignore(path))).toEqual([]);
  const taken = [
    "package.json",
    ".pnpmfile.mjs",
    "packages/consumer-map/evidence.json",
    "packages/db/prisma/schema.prisma",
    "deploy/health.mjs",
  ];
  expect(taken.filter(ignore)).toEqual([]);
  expect(() => readIgnore("node_modules\n!node_modules/kept")).toThrow(
    "expected .dockerignore to have no exceptions, got !node_modules/kept",
  );
});

test("copying is what COPY does: of a folder its contents, of a pattern what matches, which may be nothing", async () => {
  const folder = await scratch();
  await mkdir(join(folder, "from", "inner"), { recursive: true });
  await Promise.all(["a.txt", "b.json", "inner/c.txt"].map((name) => writeFile(join(folder, "from", name), name)));
  await symlink("a.txt", join(folder, "from", "link"));
  const copied = async (name: string, ...sources: string[]): Promise<string[]> => {
    await copyFiles({ root: folder }, sources, join(folder, name));
    return (await readdir(join(folder, name), { recursive: true })).sort();
  };
  expect(await copied("whole", "/from/")).toEqual(["a.txt", "b.json", "inner", "inner/c.txt", "link"]);
  expect(await copied("some", "from/a.txt", "from/*.json*", "from/nothing*")).toEqual(["a.txt", "b.json"]);
});

test("a tool, a version that the lock file does not name, and sources are found in an image; packages of the product are no strangers", async () => {
  const root = await scratch();
  const names = ["vitest@5.1.2_vite@8.4.0", "zod@0.0.1", "pg@8.23.1", "@prisma+client@7.10.0", "@toolctrl+db@file+packages+db"];
  for (const name of names) await mkdir(join(root, "app", "node_modules", ".pnpm", name), { recursive: true });
  const image = { root, workdir: "/app", user: "node", entrypoint: ["node"], env: {} };
  expect(await listStrangers(image)).toEqual(["vitest@5.1.2", "zod@0.0.1"]);
  await mkdir(join(root, "app", "node_modules", ".pnpm", "@toolctrl+db@file+packages+db", "node_modules", "@toolctrl", "db", "test"), {
    recursive: true,
  });
  expect(await listStrangers(image)).toContain("node_modules/@toolctrl/db/test");
});

test("an image without what the rollout gate reads is found: nothing else would tell", async () => {
  const [root, context] = [await scratch(), await scratch()];
  const image = { root, workdir: "/app", user: "node", entrypoint: ["node"], env: {} };
  const map = join(root, "app", "node_modules", ".pnpm", "@toolctrl+consumer-map@file", "node_modules", "@toolctrl", "consumer-map");
  await mkdir(join(map, "dist"), { recursive: true });
  expect(listMissing(image, context)).toEqual(["dist/source-hashes.json"]);
  await writeFile(join(map, "dist", "source-hashes.json"), "{}");
  expect(listMissing(image, context)).toEqual([]);
  await mkdir(join(context, "packages", "consumer-map"), { recursive: true });
  await writeFile(join(context, "packages", "consumer-map", "evidence.json"), "{}");
  expect(listMissing(image, context)).toEqual(["evidence.json"]);
});
