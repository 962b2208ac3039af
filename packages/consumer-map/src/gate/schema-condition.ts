import { findSchemaProblems } from "@toolctrl/db/schema";
import type { Queryable } from "@toolctrl/db/sql";
import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import { redFor } from "./answers.ts";
import { remembered } from "./remembered.ts";

const LOOK_AGAIN_MS = 30_000;

/** What the record keys' own condition asks about, and asks each time. */
const OF_RECORD_KEYS = [
  "column OutboxEvent.recordKey is missing",
  "constraint OutboxEvent.OutboxEvent_recordKey_check is missing",
  "index OutboxEvent.OutboxEvent_line_idx is missing",
  "index OutboxEvent.OutboxEvent_in_flight_key is missing",
];

/** The live tables are what this version's migrations make. More than that is fine. */
export function createSchemaCondition(db: Queryable): StartCondition {
  const look = remembered(() => findSchemaProblems(db), LOOK_AGAIN_MS);
  return {
    name: "schema",
    async check() {
      const fix = "run `toolctrl-cli db migrate`; what it does not mend was changed by hand, `toolctrl-cli db status` lists it";
      const problems = (await look()).filter((problem) => !OF_RECORD_KEYS.includes(problem) && !isInvalidLineIndex(problem));
      return redFor(problems.map((why) => ({ why, fix })));
    },
  };
}

function isInvalidLineIndex(problem: string): boolean {
  return /^expected index OutboxEvent\.OutboxEvent_(?:line_idx|in_flight_key) .+ \(INVALID\)"$/.test(problem);
}
