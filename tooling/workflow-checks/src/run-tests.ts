import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs these files of tests in one go, and gives vitest's JSON report of it. What a test prints goes to stderr. */
export async function runTests(root: string, files: readonly string[]): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "workflow-checks-"));
  try {
    const out = join(folder, "report.json");
    const args = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--reporter=json", `--outputFile=${out}`, ...files];
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] });
    // Failed tests are judged by the report.
    await once(child, "exit");
    return JSON.parse(await readFile(out, "utf8"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
