import { findSchemaProblems } from "@toolctrl/db/schema";
import type { Queryable } from "@toolctrl/db/sql";
import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import { redFor } from "./answers.ts";
import { isOfRecordKeys } from "./of-record-keys.ts";
import { remembered } from "./remembered.ts";

const LOOK_AGAIN_MS = 30_000;

const BY_HAND = "run `toolctrl-cli db migrate`; what it does not mend was changed by hand, `toolctrl-cli db status` lists it";

/** The live tables are what this version's migrations make. More than that is fine. */
export function createSchemaCondition(db: Queryable): StartCondition {
  const look = remembered(() => findSchemaProblems(db), LOOK_AGAIN_MS);
  return {
    name: "schema",
    async check() {
      const problems = (await look()).filter((problem) => !isOfRecordKeys(problem));
      return redFor(problems.map(({ said, mend }) => ({ why: said, fix: fixOf(mend) })));
    },
  };
}

/** What to do about a difference. */
export function fixOf(mend: string | null): string {
  return mend === null ? BY_HAND : `run \`toolctrl-cli db migrate\`; where it has nothing left to apply: ${mend}`;
}
