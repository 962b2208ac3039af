import type { Queryable } from "@toolctrl/db/sql";
import { listLiveProcesses } from "@toolctrl/outbox-drainer/stats";
import { readModeState } from "@toolctrl/outbox-drainer/switch";
import { fail, ok, warn, type Check, type Finding } from "../check.ts";

/** Somebody drains, and the drainer that runs is the one that the votes ask for. */
export function createDrainersCheck(db: Queryable): Check {
  return { name: "drainers", look: () => lookAt(db) };
}

async function lookAt(db: Queryable): Promise<Finding> {
  const drainers = (await listLiveProcesses(db)).filter(({ drains }) => drains);
  const { mode, decision } = await readModeState(db);
  if (drainers.length === 0)
    return fail("expected a live process that drains, got none: events wait", "start worker-general with OUTBOX_DISPATCHER_ENABLED=true");
  const votes = [...new Set(drainers.map(({ vote }) => vote))].sort();
  if (votes.length > 1)
    return warn(
      `expected one vote of all drainers, got OUTBOX_PULL_WORKER=${votes.join(" and ")}: the mode is ${decision.desired}`,
      "finish the rollout, or give every worker-general the same vote; `toolctrl-cli outbox stats` names them",
    );
  if (votes[0] === "true" && decision.desired === "batch")
    return warn(
      `expected pull workers, as every drainer votes for them, got objections: ${decision.reasons.join("; ")}`,
      "mend them one by one; `toolctrl-cli outbox gate` says how",
    );
  if (mode.mode !== decision.desired || mode.desired !== decision.desired)
    return warn(
      `expected the mode to be ${decision.desired}, got ${mode.mode} on its way there: nobody claims meanwhile`,
      "wait until earlier claims are settled or their leases are over; `toolctrl-cli outbox stats` counts them",
    );
  return ok(`${drainers.length} live, OUTBOX_PULL_WORKER=${votes.join("")}, mode ${mode.mode}`);
}
