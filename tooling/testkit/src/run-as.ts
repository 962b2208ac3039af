import { execFile } from "node:child_process";
import { stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The ids a child runs with; empty for "as we do". */
export interface RunAs {
  uid?: number;
  gid?: number;
}

/**
 * PostgreSQL refuses to run as root. As root, its processes run as the owner of an existing data directory, else as `postgres`,
 * else as `nobody`, which every system has: no account is made.
 */
export async function postgresUser(dataDir: string): Promise<RunAs> {
  if (process.getuid?.() !== 0) return {};
  const owner = await stat(`${dataDir}/PG_VERSION`).catch(() => null);
  if (owner !== null && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ["postgres", "nobody"]) {
    const ids = await idsOf(name).catch(() => null);
    if (ids !== null) return ids;
  }
  throw new Error("expected an account `postgres` or `nobody` to run PostgreSQL as, got neither; run as a user other than root");
}

async function idsOf(name: string): Promise<RunAs> {
  const [uid, gid] = await Promise.all([run("id", ["-u", name]), run("id", ["-g", name])]);
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

/** Whether a process with these ids can reach `path` and everything above it. */
export async function canReach(path: string, as: RunAs): Promise<boolean> {
  if (as.uid === undefined) return true;
  return run("/bin/sh", ["-c", 'test -r "$1" && test -x "$1"', "sh", path], { ...as, cwd: "/" }).then(
    () => true,
    () => false,
  );
}

/** The first directory for temporary files that a process with these ids can reach; TMPDIR may lie below a closed home. */
export async function reachableTmp(as: RunAs): Promise<string> {
  for (const path of [tmpdir(), "/tmp", "/var/tmp"]) {
    if (await canReach(path, as)) return path;
  }
  throw new Error(`expected a directory for temporary files that the account ${as.uid} can reach, got none; set TMPDIR`);
}

const MEMORY_DISK = "/dev/shm";
const ROOM_BYTES = 2 ** 31;

/**
 * Where a throwaway server keeps its files: in memory where there is ample room (copying the template database took 25 ms there and
 * 280 ms on a disk, nearly all of it in creating files), else among the temporary files.
 */
export async function scratchDirectory(as: RunAs): Promise<string> {
  if (process.platform === "linux" && process.availableMemory() > 2 * ROOM_BYTES) {
    const disk = await statfs(MEMORY_DISK).catch(() => null);
    if (disk !== null && disk.bavail * disk.bsize > ROOM_BYTES && (await canReach(MEMORY_DISK, as))) return MEMORY_DISK;
  }
  return reachableTmp(as);
}
