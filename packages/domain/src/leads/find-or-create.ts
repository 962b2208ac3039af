import { CodedError } from "@toolctrl/foundation/errors";

const MAX_TRIES = 3;

/**
 * The id that `find` gives, else that of the row that `insert` writes; never an error of a unique key, which would take the whole
 * transaction with it.
 *
 * `insert` says whether it wrote (ON CONFLICT DO NOTHING, without a target: no index has to be there or valid). Where a rival was
 * first it has waited for the rival's end, so that the next `find`, a statement of its own, sees what the rival committed.
 *
 * @throws CodedError `LEAD.CONFLICT` when rivals come and go
 */
export async function findOrCreate(find: () => Promise<string | undefined>, insert: () => Promise<string | undefined>): Promise<string> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const id = (await find()) ?? (await insert());
    if (id !== undefined) return id;
  }
  throw new CodedError("LEAD.CONFLICT", `expected the row to be there or to be free, got rivals that vanish ${MAX_TRIES} times`);
}
