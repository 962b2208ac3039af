import { expect, test } from "vitest";
import { readEnv } from "../src/env.ts";
import { receiverSettings } from "@toolctrl/worker/settings";
import { marketingProvider, messageIdDomain, smtpServer } from "../src/settings.ts";

const GOOD = {
  DATABASE_URL: "postgres://app@db/toolctrl",
  SMTP_URL: "smtp://mail.test",
  MAIL_FROM: "noreply@toolctrl.test",
  WEBHOOK_SECRETS_KEY: Buffer.alloc(32).toString("base64"),
};

test("every problem is listed at once, and no secret is printed", () => {
  const bad = {
    ...GOOD,
    SMTP_URL: "http://user:hunter2@x",
    MAIL_FROM: "a@x, b@y",
    WEBHOOK_SECRETS_KEY: "c2hvcnQ=",
    WEBHOOK_MAX_ATTEMPTS: "0",
    WORKER_QUEUE_GROUP: "general",
  };
  const names = ["SMTP_URL", "MAIL_FROM", "WEBHOOK_SECRETS_KEY", "WEBHOOK_MAX_ATTEMPTS", "WORKER_QUEUE_GROUP"];
  for (const name of names) expect(() => readEnv(bad)).toThrow(new RegExp(`- ${name}: expected`));
  expect(() => readEnv(bad)).not.toThrow(/hunter2|c2hvcnQ/);
});

test("WORKER_QUEUE_GROUP=mail is accepted", () => {
  expect(readEnv({ ...GOOD, WORKER_QUEUE_GROUP: "mail" }).WORKER_QUEUE_GROUP).toBe("mail");
});

test.each(["MAIL_SEND_DEADLINE_MS", "WEBHOOK_DEADLINE_MS", "MARKETING_DEADLINE_MS"])("%s must end before a claim does", (name) => {
  expect(() => readEnv({ ...GOOD, [name]: "30000", OUTBOX_CLAIM_TTL_MS: "30000" })).toThrow(
    `${name}: expected less than OUTBOX_CLAIM_TTL_MS`,
  );
  expect(readEnv({ ...GOOD, [name]: "29999", OUTBOX_CLAIM_TTL_MS: "30000" })).toMatchObject({ [name]: 29_999 });
});

test.each([
  ["a URL without a token", { MARKETING_PROVIDER_URL: "https://m.test" }, "MARKETING_PROVIDER_TOKEN: expected a value"],
  ["a token without a URL", { MARKETING_PROVIDER_TOKEN: "t0ken" }, "MARKETING_PROVIDER_TOKEN: expected none"],
  [
    "a password in the URL",
    { MARKETING_PROVIDER_URL: "https://u:hunter2@m.test", MARKETING_PROVIDER_TOKEN: "t0ken" },
    "no user and no password",
  ],
  [
    "a token in the clear",
    { MARKETING_PROVIDER_URL: "http://m.test", MARKETING_PROVIDER_TOKEN: "t0ken", NODE_ENV: "production", QUEUE_BACKEND: "postgres" },
    "MARKETING_PROVIDER_URL: expected https",
  ],
])("%s stops the boot, and shows neither", (_what, env, problem) => {
  expect(() => readEnv({ ...GOOD, ...env })).toThrow(problem);
  expect(() => readEnv({ ...GOOD, ...env })).not.toThrow(/t0ken|hunter2/);
});

test("the marketing provider is what URL and token say, or none", () => {
  expect(marketingProvider(readEnv(GOOD))).toBeNull();
  const env = { MARKETING_PROVIDER_URL: "https://m.test/v1", MARKETING_PROVIDER_TOKEN: "t0ken" };
  expect(marketingProvider(readEnv({ ...GOOD, ...env }))).toEqual({ url: "https://m.test/v1", token: "t0ken" });
});

test("a result TTL below the retry horizon stops the boot with the whole sum", () => {
  expect(() => receiverSettings(readEnv({ ...GOOD, OUTBOX_RESULT_TTL_SECONDS: "3600" }))).toThrow(/dispatcher backoff[^]*total/);
  expect(receiverSettings(readEnv(GOOD))).toEqual({ ttlSeconds: 86_400, claimTtlMs: 30_000 });
});

test.each([
  ["smtp://mail.test", { host: "mail.test", port: 587, secure: false, startTls: "opportunistic", auth: null }],
  [
    "smtp://u%40x:p%3Aw@mail.test:2525",
    { host: "mail.test", port: 2525, secure: false, startTls: "required", auth: { user: "u@x", pass: "p:w" } },
  ],
  ["smtps://u:p@mail.test", { host: "mail.test", port: 465, secure: true, startTls: "required", auth: { user: "u", pass: "p" } }],
  ["smtp://[::1]:25", { host: "::1", port: 25, secure: false, startTls: "opportunistic", auth: null }],
])("%s says where and how mail leaves; a password never goes in the clear by default", (SMTP_URL, server) => {
  expect(smtpServer(readEnv({ ...GOOD, SMTP_URL }))).toEqual(server);
});

test("the Message-ID's domain is the sender's unless it is given", () => {
  expect(messageIdDomain(readEnv(GOOD))).toBe("toolctrl.test");
  expect(messageIdDomain(readEnv({ ...GOOD, MAIL_MESSAGE_ID_DOMAIN: "ids.toolctrl.test" }))).toBe("ids.toolctrl.test");
});
