import { checkCompose, type Platform } from "../src/compose/check-compose.ts";
import { readCompose, type Compose } from "../src/compose/read-compose.ts";
import { fillInValues } from "../src/fill-in-values.ts";
import { loadPrograms, type Program } from "../src/programs.ts";
import { FILES } from "./files.ts";

export const COMPOSE_FILES = ["plain", "coolify", "scaled"] as const;
export type ComposeFile = (typeof COMPOSE_FILES)[number];

const known = await loadPrograms();
const PROGRAMS: Readonly<Record<ComposeFile, readonly Program[]>> = {
  plain: known,
  coolify: known,
  // Works the general queues without draining: the same program, so the same variables.
  scaled: known.flatMap((program) =>
    program.service === "worker-general" ? [program, { ...program, service: "worker-consumers" as Program["service"] }] : [program],
  ),
};

export const VALUES: Readonly<Record<ComposeFile, Readonly<Record<string, string>>>> = {
  plain: fillInValues(),
  coolify: fillInValues(),
  scaled: fillInValues({
    DATABASE_DIRECT_URL: "postgres://postgres:secret@postgres.example.com:5432/postgres",
    REDIS_URL: "redis+cluster://:secret@redis-1.example.com:6379?node=redis-2.example.com:6379",
  }),
};

/** What is wrong with a text in the place of one of the compose files. */
export function problemsOf(file: ComposeFile, text: string = FILES[file], values = VALUES[file]): string[] {
  const platform: Platform = file === "coolify" ? "coolify" : "plain";
  return checkCompose({ text, platform, programs: PROGRAMS[file], values });
}

/** The file with one thing changed, which has to be there. */
export function doctored(file: ComposeFile, part: string | RegExp, instead: string): string {
  const text = FILES[file];
  const changed = text.replace(part, instead);
  if (changed === text) throw new Error(`expected ${String(part)} in the compose file, got it nowhere`);
  return changed;
}

export function composeOf(file: ComposeFile): Compose {
  const read = readCompose(FILES[file]);
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read.compose;
}
