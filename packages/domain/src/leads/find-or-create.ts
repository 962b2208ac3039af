import { CodedError, type ErrorCode } from "@toolctrl/foundation/errors";

const MAX_TRIES = 3;

/**
 * What `find` gives, else what `insert` writes, an id or a row; never an error of a unique key, which would take the whole
 * transaction with it.
 *
 * `insert` says whether it wrote (ON CONFLICT DO NOTHING, without a target: no index has to be there or valid). Where a rival was
 * first it has waited for the rival's end, so that the next `find`, a statement of its own, sees what the rival committed.
 *
 * @throws CodedError `code` when rivals come and go
 */
export async function findOrCreate<T = string>(
  find: () => Promise<T | undefined>,
  insert: () => Promise<T | undefined>,
  code: ErrorCode = "LEAD.CONFLICT",
): Promise<T> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const found = (await find()) ?? (await insert());
    if (found !== undefined) return found;
  }
  throw new CodedError(code, `expected the row to be there or to be free, got rivals that vanish ${MAX_TRIES} times`);
}
