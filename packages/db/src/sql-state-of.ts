/** A lock was not granted within `lock_timeout`. */
export const LOCK_NOT_AVAILABLE = "55P03";
/** A write where the server takes none. */
export const READ_ONLY_TRANSACTION = "25006";
export const DISK_FULL = "53100";
/** A statement of a transaction in which an earlier one failed. */
export const IN_FAILED_TRANSACTION = "25P02";

/**
 * The SQLSTATE of an error of `pg`, of Prisma over a driver adapter (models and raw queries), or of one that wraps such an error as its
 * `cause`; null when there is none.
 */
export function sqlStateOf(error: unknown): string | null {
  for (let current = error, depth = 0; isRecord(current) && depth < 10; depth += 1) {
    const state = [current["originalCode"], current["code"]].find(isSqlState);
    if (state !== undefined) return state;
    const { meta } = current;
    current = isRecord(meta) && isRecord(meta["driverAdapterError"]) ? meta["driverAdapterError"] : current["cause"];
  }
  return null;
}

// Prisma's own codes have five characters too; those of PL/pgSQL begin with P0.
function isSqlState(code: unknown): code is string {
  return typeof code === "string" && /^(?!P[1-9])[0-9A-Z]{5}$/.test(code);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
