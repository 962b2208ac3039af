import { createRecordKeyCondition } from "@toolctrl/consumer-map/gate";
import { recordKeyReady } from "@toolctrl/db/record-key";
import type { Queryable } from "@toolctrl/db/sql";
import type { Check } from "../check.ts";
import { ofCondition } from "../of-condition.ts";

/** The gate's condition. A backfill that has not been run is no fault: it only keeps pull workers off. */
export function createRecordKeysCheck(db: Queryable): Check {
  const condition = createRecordKeyCondition(db);
  return {
    name: condition.name,
    async look() {
      const { column, constraint, indexes } = await recordKeyReady(db);
      return ofCondition(condition, { holds: "every event has its key", red: column && constraint && indexes ? "warn" : "fail" }).look();
    },
  };
}
