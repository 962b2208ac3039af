import { CodedError, isCodedError } from "@toolctrl/foundation/errors";
import { z } from "zod";
import { openSecret, sealedSecretSchema, sealSecret, type SealedSecret } from "../webhook-endpoints/secret-box.ts";
import { assertWebhookSecret, createWebhookSecret } from "../webhook-endpoints/webhook-secret.ts";

/**
 * A subscription's first secret, and how it is stored.
 * @throws CodedError `PLUGIN.SECRET`
 */
export function sealFirstSecret(
  subscriptionId: string,
  given: string | undefined,
  secretsKey: string,
): { secret: string; secrets: SealedSecret[] } {
  return named(subscriptionId, () => {
    const secret = assertWebhookSecret(given ?? createWebhookSecret());
    return { secret, secrets: [sealSecret(secret, subscriptionId, secretsKey)] };
  });
}

/**
 * The secrets that sign, newest first.
 * @param secretsKey 32 bytes in base64; undefined where this process has none
 * @throws CodedError `PLUGIN.SECRET`
 */
export function openPluginSecrets(subscription: { id: string; sealedSecrets: unknown }, secretsKey: string | undefined): string[] {
  const { id, sealedSecrets } = subscription;
  if (secretsKey === undefined) {
    throw new CodedError(
      "PLUGIN.SECRET",
      `expected PLUGIN_SECRETS_KEY to be set, as subscription ${id} is called by signed HTTP, it is not`,
      {
        facts: { subscriptionId: id },
      },
    );
  }
  return named(id, () => {
    const sealed = z.array(sealedSecretSchema).min(1).parse(sealedSecrets);
    return sealed.map((secret) => openSecret(secret, id, secretsKey));
  });
}

/** The box speaks of endpoints; the code and the subscription's id lead to what a reader can do here. */
function named<T>(subscriptionId: string, fn: () => T): T {
  try {
    return fn();
  } catch (cause) {
    if (isCodedError(cause) && cause.code === "PLUGIN.SECRET") throw cause;
    throw new CodedError("PLUGIN.SECRET", `expected the secrets of subscription ${subscriptionId} to be usable`, {
      facts: { subscriptionId },
      cause,
    });
  }
}
