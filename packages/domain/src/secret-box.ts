/** Secrets as they are stored: sealed with a key of the program's own, bound to what they are for. */
export { openSecret, sealedSecretSchema, sealSecret, type SealedSecret } from "./webhook-endpoints/secret-box.ts";
