import type { WorkerMailEnv } from "./env.ts";
import type { MarketingProvider } from "./marketing/contact-request.ts";
import type { SmtpServer } from "./smtp/send-mail.ts";

/** The mail server of `SMTP_URL`. A password never leaves unencrypted unless `SMTP_TLS` says so. */
export function smtpServer(env: WorkerMailEnv): SmtpServer {
  const url = new URL(env.SMTP_URL);
  const secure = url.protocol === "smtps:";
  const auth = url.username === "" ? null : { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
  return {
    // An IPv6 host stands in brackets in a URL, and nowhere else.
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
    startTls: env.SMTP_TLS ?? (auth === null ? "opportunistic" : "required"),
    auth,
  };
}

/** Right half of the Message-IDs. */
export function messageIdDomain(env: WorkerMailEnv): string {
  return env.MAIL_MESSAGE_ID_DOMAIN ?? env.MAIL_FROM.slice(env.MAIL_FROM.lastIndexOf("@") + 1);
}

/** The marketing provider; null where there is none. */
export function marketingProvider(env: WorkerMailEnv): MarketingProvider | null {
  const { MARKETING_PROVIDER_URL: url, MARKETING_PROVIDER_TOKEN: token } = env;
  return url === undefined || token === undefined ? null : { url, token };
}
