import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readText, ROOT } from "@toolctrl/docs-check/repository";
import { readCompose } from "./compose/read-compose.ts";
import { readDockerfile } from "./dockerfile/read-dockerfile.ts";
import { listMissing } from "./image/list-missing.ts";
import { listStrangers } from "./image/list-strangers.ts";
import { readIgnore } from "./image/read-ignore.ts";
import { runStages } from "./image/run-stages.ts";
import { useImage } from "./image/use-image.ts";

const startedAt = performance.now();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seconds = (): string => `${((performance.now() - startedAt) / 1000).toFixed(0)} s`;

// Its databases' addresses are the ones that somebody gives; the commands and health checks are those of the other file, which a test compares.
const read = readCompose(readText("docker-compose.coolify.yml"));
if ("problems" in read) throw new Error(read.problems.join("\n"));
const scratch = await mkdtemp(join(tmpdir(), "toolctrl-image-"));
try {
  await chmod(scratch, 0o755);
  say("The Dockerfile's steps, in a folder of their own, without an engine:");
  const stages = readDockerfile(readText("Dockerfile"));
  const image = await runStages(stages, { context: ROOT, ignore: readIgnore(readText(".dockerignore")), scratch, say });
  const strangers = await listStrangers(image);
  if (strangers.length > 0)
    throw new Error(`expected the image to have what the lock file names and no tools, got ${strangers.join(", ")}`);
  const missing = listMissing(image, ROOT);
  if (missing.length > 0) throw new Error(`expected the consumer map of the image to have ${missing.join(", ")}, got none`);
  say(`built (${seconds()})`);
  await useImage(image, read.compose, (line) => say(`  ${line}`));
  say(`used (${seconds()}): the steps and the commands work together; whether an engine builds the image is not shown by this`);
} finally {
  await rm(scratch, { recursive: true, force: true });
}
