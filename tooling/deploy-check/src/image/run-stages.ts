import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { text } from "node:stream/consumers";
import type { Instruction, Stage } from "../dockerfile/read-dockerfile.ts";
import { copyFiles } from "./copy-files.ts";
import type { Ignore } from "./read-ignore.ts";

/** A folder that stands for a stage's file system, and what the stage says of its processes. */
export interface StageFolder {
  readonly root: string;
  workdir: string;
  user: string;
  entrypoint: readonly string[];
  readonly env: Record<string, string>;
}

export interface StagesSetup {
  /** What the engine would be given. */
  readonly context: string;
  readonly ignore: Ignore;
  /** Holds a folder for each stage. */
  readonly scratch: string;
  readonly say: (line: string) => void;
}

/** Where the base image has its programs. */
const BIN = "usr/local/bin";

/**
 * Runs the instructions of a Dockerfile one by one, each stage in a folder of its own. Of the base image it takes Node alone: this one, which
 * has to be the version that is named. Processes are not confined to the folder, so the steps must not name absolute paths.
 * @returns the last stage
 */
export async function runStages(stages: readonly Stage[], setup: StagesSetup): Promise<StageFolder> {
  const folders = new Map<string, StageFolder>();
  let last: StageFolder | undefined;
  for (const { name, base, instructions } of stages) {
    last = await openStage(join(setup.scratch, name), base, folders.get(base));
    folders.set(name, last);
    for (const instruction of instructions) await runInstruction(instruction, last, folders, setup);
  }
  if (last === undefined) throw new Error("expected a stage, got none");
  return last;
}

async function openStage(root: string, base: string, parent: StageFolder | undefined): Promise<StageFolder> {
  if (parent !== undefined) {
    await copyFiles({ root: parent.root }, ["."], root);
    return { ...parent, root, env: { ...parent.env } };
  }
  if (!base.startsWith(`node:${process.versions.node}-`))
    throw new Error(`expected ${base} to have the Node that runs this, ${process.version}`);
  await mkdir(join(root, BIN), { recursive: true });
  await copyFile(process.execPath, join(root, BIN, "node"));
  return { root, workdir: "/", user: "root", entrypoint: [], env: {} };
}

async function runInstruction(
  step: Instruction,
  stage: StageFolder,
  folders: ReadonlyMap<string, StageFolder>,
  { context, ignore, say }: StagesSetup,
): Promise<void> {
  switch (step.kind) {
    case "RUN":
      return runCommand(step.command, stage, say);
    case "COPY": {
      const from = step.from === null ? { root: context, ignore } : { root: folderOf(folders, step.from).root };
      return copyFiles(from, step.sources, placeOf(stage, step.target));
    }
    case "ENV":
      Object.assign(stage.env, step.values);
      return;
    case "WORKDIR":
      stage.workdir = step.value;
      await mkdir(placeOf(stage, "."), { recursive: true });
      return;
    case "USER":
      stage.user = step.value;
      return;
    case "ENTRYPOINT":
      stage.entrypoint = step.words;
      return;
    case "CMD":
      return;
  }
}

function folderOf(folders: ReadonlyMap<string, StageFolder>, name: string): StageFolder {
  const folder = folders.get(name);
  if (folder === undefined) throw new Error(`expected a stage ${name} before it is copied from, got none`);
  return folder;
}

/** Where a path of the stage is on this machine. */
export function placeOf({ root, workdir }: StageFolder, path: string): string {
  return join(root, isAbsolute(path) ? path : join(workdir, path));
}

/** Where the stage's programs are found. */
export function binOf({ root }: StageFolder): string {
  return join(root, BIN);
}

async function runCommand(command: string, stage: StageFolder, say: (line: string) => void): Promise<void> {
  const startedAt = performance.now();
  const child = spawn("/bin/sh", ["-c", command], { cwd: placeOf(stage, "."), env: commandEnv(stage), stdio: ["ignore", "pipe", "pipe"] });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close") as Promise<[number | null]>]);
  if (code !== 0) throw new Error(`expected \`${command}\` to end with 0, got ${code}:\n${out.slice(-8000)}\n${err.slice(-8000)}`);
  say(`  RUN ${command} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
}

let asked: string | undefined;

/** Where this machine's npm has the settings of all its users. */
function globalConfig(): string {
  asked ??= execFileSync("npm", ["config", "get", "globalconfig"], { encoding: "utf8" }).trim();
  return asked;
}

/** Of ours: the package managers' settings and stores, so that nothing is fetched twice, and the rest of PATH, for npm, which the base image has. */
function commandEnv(stage: StageFolder): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^(?:HOME|TMPDIR|LANG|SSL_\w+|NODE_EXTRA_CA_CERTS|\w+_proxy|npm_config_(?:cafile|ca|registry))$/i.test(name),
  );
  const path = [binOf(stage), process.env["PATH"] ?? ""].join(delimiter);
  return {
    ...Object.fromEntries(kept),
    ...stage.env,
    PATH: path,
    npm_config_prefix: join(stage.root, "usr/local"),
    // The machine's own settings (its registry, its certificates), which npm looks for below its prefix: with another prefix it would have none.
    npm_config_globalconfig: globalConfig(),
    npm_config_update_notifier: "false",
  };
}
