import type { Queryable } from "@toolctrl/db/sql";
import { sendWakeup } from "@toolctrl/db/wakeup";

/** Tells the drainers that events may be due. A hint only: when it does not get through, the next poll finds them. */
export async function hintDrainers(db: Queryable): Promise<void> {
  await sendWakeup(db).catch(() => undefined);
}
