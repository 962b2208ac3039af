import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { signWebhook, verifyWebhook } from "../src/webhook-endpoints.ts";
import { openSecret, sealSecret } from "../src/webhook-endpoints/secret-box.ts";
import { createWebhookSecret } from "../src/webhook-endpoints/webhook-secret.ts";

const nowSeconds = (): number => Math.floor(Date.now() / 1000);
const secret = createWebhookSecret();
const body = Buffer.from('{"note":"ünïcödé \u2028 <b>"}', "utf8");
const sign = (secrets = [secret], timestampSeconds = nowSeconds()): Record<string, string> =>
  signWebhook({ id: "msg_1", timestampSeconds, body, secrets });

test("what we sign the Standard Webhooks library verifies, and what it signs we verify", () => {
  expect(new Webhook(secret).verify(body.toString("utf8"), sign())).toEqual({ note: "ünïcödé \u2028 <b>" });
  const timestamp = new Date();
  const signature = new Webhook(secret).sign("msg_2", timestamp, body.toString("utf8"));
  const headers = {
    "Webhook-Id": "msg_2",
    "Webhook-Timestamp": String(Math.floor(timestamp.getTime() / 1000)),
    "Webhook-Signature": signature,
  };
  expect(verifyWebhook({ secret, headers, body })).toBe(true);
  expect(verifyWebhook({ secret, headers: new Headers(headers), body: body.toString("utf8") })).toBe(true);
});

test("any other byte, id, timestamp or secret does not verify", () => {
  const headers = sign();
  expect(verifyWebhook({ secret, headers, body })).toBe(true);
  expect(verifyWebhook({ secret, headers, body: Buffer.concat([body, Buffer.from(" ")]) })).toBe(false);
  expect(verifyWebhook({ secret, headers: { ...headers, "webhook-id": "msg_2" }, body })).toBe(false);
  expect(verifyWebhook({ secret, headers: { ...headers, "webhook-timestamp": String(nowSeconds() - 1) }, body })).toBe(false);
  expect(verifyWebhook({ secret: createWebhookSecret(), headers, body })).toBe(false);
});

test("a timestamp outside the tolerance does not verify, in the past or the future, nor one in milliseconds", () => {
  for (const offset of [-301, 301])
    expect(verifyWebhook({ secret, headers: sign([secret], nowSeconds() + offset), body, toleranceSeconds: 300 })).toBe(false);
  expect(verifyWebhook({ secret, headers: sign([secret], nowSeconds() - 200), body, toleranceSeconds: 300 })).toBe(true);
  expect(verifyWebhook({ secret, headers: sign([secret], Date.now()), body })).toBe(false);
  expect(verifyWebhook({ secret, headers: sign(), body, toleranceSeconds: Number.NaN })).toBe(false);
});

test("a signature that is short, not base64, of another version, missing or not even a text is false, never an error", () => {
  const good = sign()["webhook-signature"] ?? "";
  for (const signature of [
    "",
    "v1",
    "v1,",
    "v1,AAAA",
    "v1,zz zz",
    "v1,!!!!",
    good.slice(0, -6),
    good.replace("v1", "v2"),
    good.replace("v1,", ""),
    "v1,é",
    "x".repeat(100_000),
  ]) {
    expect(verifyWebhook({ secret, headers: { ...sign(), "webhook-signature": signature }, body }), signature.slice(0, 20)).toBe(false);
  }
  const broken = [
    {},
    { "webhook-id": "msg_1" },
    { "webhook-signature": [] },
    { "webhook-timestamp": "soon" },
    null,
    undefined,
    7,
  ] as never[];
  for (const headers of broken) expect(verifyWebhook({ secret, headers, body })).toBe(false);
  expect(verifyWebhook({ secret: "", headers: sign(), body })).toBe(false);
  expect(verifyWebhook({ secret: "whsec_%%%", headers: sign(), body })).toBe(false);
  expect(verifyWebhook({ secret: undefined as never, headers: sign(), body: undefined as never })).toBe(false);
});

test("what is no delivery at all, or throws when it is looked at, is false, never an error", () => {
  const throwing = (): never => {
    throw new Error("looked at");
  };
  const good = { secret, headers: sign(), body };
  for (const given of [undefined, null, 7, "x", {}, []] as never[]) expect(verifyWebhook(given)).toBe(false);
  for (const field of ["secret", "headers", "body", "toleranceSeconds"])
    expect(verifyWebhook(Object.defineProperty({ ...good }, field, { get: throwing }))).toBe(false);
  expect(verifyWebhook({ ...good, headers: Object.defineProperty(sign(), "a", { get: throwing, enumerable: true }) })).toBe(false);
  expect(verifyWebhook({ ...good, headers: { get: throwing } })).toBe(false);
});

test("verifying never throws and never accepts what was not signed, whatever it is given", () => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom("webhook-id", "webhook-timestamp", "webhook-signature", "x"),
        fc.oneof(fc.string(), fc.array(fc.string())),
      ),
      fc.string(),
      (headers, text) => {
        expect(verifyWebhook({ secret, headers, body: text })).toBe(false);
      },
    ),
  );
});

test("with several secrets each of them verifies: nobody is cut off while one rotates", () => {
  const older = createWebhookSecret();
  const headers = sign([secret, older]);
  expect(verifyWebhook({ secret, headers, body })).toBe(true);
  expect(verifyWebhook({ secret: older, headers, body })).toBe(true);
  expect(verifyWebhook({ secret: createWebhookSecret(), headers, body })).toBe(false);
});

test("a sealed secret opens with its key and for its endpoint only, and shows nothing of itself", () => {
  const key = Buffer.alloc(32, 1).toString("base64");
  const sealed = sealSecret(secret, "endpoint-1", key);
  expect(openSecret(sealed, "endpoint-1", key)).toBe(secret);
  expect(JSON.stringify(sealed)).not.toContain(secret.slice(6, 20));
  const tampered = { ...sealed, tag: Buffer.alloc(16).toString("base64") };
  const short = { ...sealed, tag: sealed.tag.slice(0, 4) };
  const attempts = [
    () => openSecret(sealed, "endpoint-2", key),
    () => openSecret(sealed, "endpoint-1", Buffer.alloc(32, 2).toString("base64")),
    () => openSecret(tampered, "endpoint-1", key),
    () => openSecret(short, "endpoint-1", key),
    () => sealSecret(secret, "endpoint-1", Buffer.alloc(16).toString("base64")),
  ];
  for (const attempt of attempts) {
    expect(attempt).toThrow(expect.objectContaining({ code: "WEBHOOK.SECRET" }));
  }
});
