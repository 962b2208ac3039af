import { startHttpPeer, type HttpPeer } from "@toolctrl/testkit/http-peer";
import { startSmtpPeer, type SmtpPeer } from "@toolctrl/testkit/smtp";
import { beforeAll } from "vitest";
import { appWith } from "../app.ts";

/** Whom the consumers of this app call; there once the tests of a file run. */
export let smtp: SmtpPeer;
export let http: HttpPeer;

beforeAll(async () => {
  [smtp, http] = await Promise.all([startSmtpPeer(), startHttpPeer()]);
});

/** The app with these peers; a call ends well within a claim's life. */
export function app(claimTtlMs: number) {
  const deadlineMs = String(Math.floor((claimTtlMs * 2) / 3));
  const deadlines = { MAIL_SEND_DEADLINE_MS: deadlineMs, WEBHOOK_DEADLINE_MS: deadlineMs, MARKETING_DEADLINE_MS: deadlineMs };
  return appWith({ smtp, http }, deadlines);
}
