import { globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { findFreePort } from "@toolctrl/testkit/free-port";
import { startPostgres } from "@toolctrl/testkit/postgres-server";
import { startRedis } from "@toolctrl/testkit/redis-server";
import { checkFiles } from "./check-files.ts";
import { checkImports } from "./check-imports.ts";
import { checkManifest } from "./check-manifest.ts";
import { checkUse } from "./check-use.ts";
import { lintWithAttw, lintWithPublint } from "./lint-package.ts";
import { packPackages } from "./pack-packages.ts";
import { readPackedPackage, specifiersOf, type PackedPackage } from "./packed-package.ts";
import { listLibraries, listMigrations, PACKED } from "./repository.ts";
import { followTutorial } from "./tutorial/follow-tutorial.ts";

const startedAt = performance.now();
const folder = mkdtempSync(join(tmpdir(), "product-"));
try {
  packPackages();
  const packages = globSync("*.tgz", { cwd: PACKED }).map((name) => readPackedPackage(join(PACKED, name)));
  say(`${packages.length} packages are built and packed`);
  fail(packages.length === listLibraries().length ? [] : [`expected a tarball of each of ${listLibraries().length} packages`]);

  fail(await checkPacked(packages));
  say("publint and attw find nothing, and the tarballs have what products need");

  // The tutorial installs the packages; what follows uses the same folder.
  const outputs = await followInFolder(folder);
  say(`the tutorial was followed in an empty folder, and printed what it shows ${outputs.length} times`);

  const specifiers = packages.flatMap(({ manifest }) => specifiersOf(manifest));
  const modules = globSync("*.ts", { cwd: folder });
  fail(checkUse(folder, specifiers, modules));
  say(
    `${specifiers.length} exports are imported, required, and type-checked under node16 and bundler, with the tutorial's ${modules.length} files`,
  );
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function checkPacked(packages: readonly PackedPackage[]): Promise<string[]> {
  const migrations = listMigrations();
  const problems: string[] = [];
  for (const packed of packages) {
    const found = [
      ...checkManifest(packed),
      ...checkFiles(packed, migrations),
      ...checkImports(packed),
      ...(await lintWithPublint(packed)),
      ...(await lintWithAttw(packed)),
    ];
    problems.push(...found.map((problem) => `${packed.manifest.name}: ${problem}`));
  }
  return problems;
}

/** With servers of its own, and this Node before any other. */
async function followInFolder(empty: string): Promise<string[]> {
  const [postgres, redis, port] = await Promise.all([startPostgres(), startRedis(), findFreePort()]);
  try {
    const { PATH = "" } = process.env;
    const addresses = { TOOLCTRL: ROOT, DATABASE_URL: postgres.url, REDIS_URL: redis.url, PORT: String(port) };
    const env = { ...process.env, ...addresses, PATH: `${dirname(process.execPath)}${delimiter}${PATH}` };
    return await followTutorial({ folder: empty, env });
  } finally {
    await Promise.all([postgres.close(), redis.close()]);
  }
}

function say(line: string): void {
  process.stdout.write(`${((performance.now() - startedAt) / 1000).toFixed(1).padStart(6)} s  ${line}\n`);
}

/** @throws Error with every problem, a line each. */
function fail(problems: readonly string[]): void {
  if (problems.length > 0) throw new Error(`expected packages that products can use, got\n${problems.join("\n")}`);
}
