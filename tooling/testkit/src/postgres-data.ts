import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { access, chown, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import type { PostgresBinaries } from "./postgres-binaries.ts";
import { canReach, reachableTmp, scratchDirectory, type RunAs } from "./run-as.ts";

const run = promisify(execFile);
const PASSWORD_FILE = "toolctrl-password";

/** Where a server's files are. */
export interface DataPlace {
  /** What is removed with a throwaway server. */
  root: string;
  /** PostgreSQL's data directory, inside `root`. */
  data: string;
}

/**
 * Chooses the place: a fresh scratch directory without `dir`, else `dir`. A `dir` that the server's account cannot reach
 * is replaced by a directory it can reach, whose name is kept in `dir`, in the file `moved-to`.
 */
export async function placeData(dir: string | undefined, as: RunAs, log?: (line: string) => void): Promise<DataPlace> {
  if (dir === undefined) return place(await freshDirectory(await scratchDirectory(as), as));
  const wanted = resolve(dir);
  await mkdir(wanted, { recursive: true });
  if (await canReach(wanted, as)) return place(wanted);
  const note = join(wanted, "moved-to");
  const moved = await readFile(note, "utf8").then(
    (text) => text.trim(),
    () => "",
  );
  if (moved !== "" && (await canReach(moved, as))) return place(moved);
  // /var/tmp outlives a restart of the machine where /tmp may not.
  const parent = (await canReach("/var/tmp", as)) ? "/var/tmp" : await reachableTmp(as);
  const root = await freshDirectory(parent, as);
  await writeFile(note, `${root}\n`);
  log?.(`the account that runs PostgreSQL cannot read ${wanted}; its data are in ${root}`);
  return place(root);
}

function place(root: string): DataPlace {
  return { root, data: join(root, "data") };
}

async function freshDirectory(parent: string, as: RunAs): Promise<string> {
  const root = await mkdtemp(join(parent, "toolctrl-pg-"));
  if (as.uid !== undefined && as.gid !== undefined) await chown(root, as.uid, as.gid);
  return root;
}

/**
 * Makes the database cluster unless it is there, and returns the password of its superuser `postgres`.
 * A cluster whose making was interrupted is never taken for one: it is made beside its place and renamed.
 */
export async function initData(where: DataPlace, binaries: PostgresBinaries, as: RunAs, durable: boolean): Promise<string> {
  const exists = await access(join(where.data, "PG_VERSION")).then(
    () => true,
    () => false,
  );
  if (exists) return (await readFile(join(where.data, PASSWORD_FILE), "utf8")).trim();
  const password = randomBytes(24).toString("hex");
  const draft = await mkdtemp(join(where.root, "init-"));
  const passwordFile = join(draft, PASSWORD_FILE);
  const data = join(draft, "data");
  await writeFile(passwordFile, `${password}\n`, { mode: 0o600 });
  if (as.uid !== undefined && as.gid !== undefined) {
    await Promise.all([chown(draft, as.uid, as.gid), chown(passwordFile, as.uid, as.gid)]);
  }
  await runInitdb(binaries.initdb, { data, passwordFile, draft }, as, durable);
  await rename(passwordFile, join(data, PASSWORD_FILE));
  await rename(data, where.data);
  await rm(draft, { recursive: true, force: true });
  return password;
}

async function runInitdb(
  initdb: string,
  paths: { data: string; passwordFile: string; draft: string },
  as: RunAs,
  durable: boolean,
): Promise<void> {
  const args = ["--pgdata", paths.data, "--username=postgres", `--pwfile=${paths.passwordFile}`, "--auth=scram-sha-256"];
  args.push("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions");
  // The password is random and 192 bits long: stretching it would only slow each connection down.
  args.push("--set=scram_iterations=1");
  if (!durable) args.push("--no-sync");
  try {
    await run(initdb, args, { ...as, cwd: paths.draft, env: { PATH: process.env.PATH, LC_ALL: "C" } });
  } catch (cause) {
    const output = (cause as { stderr?: string }).stderr ?? String(cause);
    throw new Error(`expected initdb to make ${paths.data}, got: ${output.trim()}`, { cause });
  }
}
