import type { StartCondition } from "@toolctrl/outbox-drainer/switch";
import { fail, ok, unknown, warn, type Check, type Finding } from "./check.ts";

/** A condition of the rollout gate as a check: red is a failure, or what `red` makes of it. */
export function ofCondition(condition: StartCondition, texts: { readonly holds: string; readonly red?: "warn" | "fail" }): Check {
  return { name: condition.name, look: () => lookAt(condition, texts) };
}

async function lookAt(condition: StartCondition, texts: { readonly holds: string; readonly red?: "warn" | "fail" }): Promise<Finding> {
  const { state, reasons } = await condition.check();
  if (state === "green") return ok(texts.holds);
  const said = reasons.map(({ why }) => why).join("; ");
  const fix = [...new Set(reasons.map((reason) => reason.fix))].join("; ");
  if (state === "unknown") return unknown(said, fix);
  return texts.red === "warn" ? warn(said, fix) : fail(said, fix);
}
