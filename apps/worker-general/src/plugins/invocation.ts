import type { Delivery } from "@toolctrl/consumer/define";
import type { CallDeps, CallTerms } from "@toolctrl/consumer/external-call";
import { effectiveEpoch } from "@toolctrl/consumer/receipt-name";
import type { PluginFunctions } from "@toolctrl/domain/plugins";

export const PLUGIN_FANOUT = "plugin-fanout";
export const PLUGIN_INVOKE = "plugin-invoke";

export const PLUGIN_TERMS = {
  consumer: PLUGIN_INVOKE,
  peer: "plugin",
  codes: { gone: "PLUGIN.GONE", rejected: "PLUGIN.REJECTED", failed: "PLUGIN.FAILED", unknown: "PLUGIN.OUTCOME_UNKNOWN" },
} as const satisfies CallTerms;

export interface PluginInvokeDeps extends CallDeps {
  /** The functions that subscriptions may name. */
  readonly functions: PluginFunctions;
  /** 32 bytes in base64: opens the secrets of HTTP subscriptions. Undefined where this installation has none. */
  readonly secretsKey: string | undefined;
  readonly concurrency: number;
}

/** The hooks of an event: one intent per subscription, in the epoch that `plugin-invoke` has in this delivery. */
export interface InvocationKey {
  readonly eventId: string;
  readonly tenantId: string;
  readonly consumer: typeof PLUGIN_INVOKE;
  readonly effectEpoch: number;
}

export function invocationKey({ eventId, tenantId, envelope }: Pick<Delivery, "eventId" | "tenantId" | "envelope">): InvocationKey {
  const { effectEpoch } = effectiveEpoch(envelope, PLUGIN_INVOKE);
  return { eventId, tenantId, effectEpoch, consumer: PLUGIN_INVOKE };
}
