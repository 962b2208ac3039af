import type { Prisma } from "@toolctrl/db/client";
import { CodedError } from "@toolctrl/foundation/errors";
import { pluginNameSchema } from "@toolctrl/foundation/events";
import { uuidv7 } from "uuidv7";
import { checkEndpointUrl } from "../webhook-endpoints/check-endpoint-url.ts";
import { checkEventPrefix } from "../webhook-endpoints/event-prefixes.ts";
import { sealFirstSecret } from "./plugin-secrets.ts";

interface Common {
  readonly tenantId: string;
  readonly pluginId: string;
  /** Event types it is called for, whole segments: `plugin.hook.lead` takes `plugin.hook.lead.created`. Empty takes every hook. */
  readonly eventPrefixes: readonly string[];
}

/** Calls a function that the worker registers. */
export interface NewFunctionSubscription extends Common {
  readonly kind: "function";
  readonly functionName: string;
}

/** Posts to a URL, signed. */
export interface NewHttpSubscription extends Common {
  readonly kind: "http";
  /** Absolute, http or https, without credentials. Whether its address may be reached is decided at each call. */
  readonly url: string;
  /** Default: a new one. */
  readonly secret?: string;
  /** 32 bytes in base64; the `PLUGIN_SECRETS_KEY` of worker-general. */
  readonly secretsKey: string;
}

export type NewPluginSubscription = NewFunctionSubscription | NewHttpSubscription;

/**
 * Subscribes a plugin to hooks, in the caller's transaction. The secret of an HTTP subscription is given back this once; it is stored encrypted.
 * @throws CodedError `PLUGIN.ARGUMENT`, `PLUGIN.SECRET`, `HTTP.BAD_URL`, `PUBLISH.EVENT_TYPE` for a malformed prefix.
 */
export async function createPluginSubscription(
  tx: Prisma.TransactionClient,
  subscription: NewPluginSubscription,
): Promise<{ id: string; secret: string | null }> {
  const id = uuidv7();
  const { secret, ...target } = targetOf(id, subscription);
  await tx.pluginSubscription.create({
    data: {
      id,
      tenantId: subscription.tenantId,
      pluginId: checkPluginName("pluginId", subscription.pluginId),
      eventPrefixes: subscription.eventPrefixes.map(checkHookPrefix),
      kind: subscription.kind,
      ...target,
    },
  });
  return { id, secret };
}

function targetOf(id: string, subscription: NewPluginSubscription) {
  if (subscription.kind === "function") return { secret: null, functionName: checkPluginName("functionName", subscription.functionName) };
  return { url: checkEndpointUrl(subscription.url), ...sealFirstSecret(id, subscription.secret, subscription.secretsKey) };
}

/** @throws CodedError `PLUGIN.ARGUMENT` */
export function checkPluginName(argument: string, name: string): string {
  if (pluginNameSchema.safeParse(name).success) return name;
  const got = JSON.stringify(name.slice(0, 80));
  throw new CodedError("PLUGIN.ARGUMENT", `expected ${argument} to be 1 to 100 letters, digits, dots, hyphens or underscores, got ${got}`, {
    facts: { argument },
  });
}

/** A prefix of other events would be stored, and never match. */
function checkHookPrefix(prefix: string): string {
  const bare = checkEventPrefix(prefix);
  if (bare === "plugin.hook" || bare.startsWith("plugin.hook.")) return bare;
  throw new CodedError("PLUGIN.ARGUMENT", `expected a prefix of plugin.hook., got ${JSON.stringify(prefix.slice(0, 80))}`);
}
