import { randomBytes } from "node:crypto";
import { readText } from "@toolctrl/docs-check/repository";
import { readEnvExample } from "./render-env-example.ts";

/** The values of somebody who has followed `.env.example` and the guides: its examples, and secrets where it leaves them empty. */
export function fillInValues(own: Readonly<Record<string, string>> = {}): Record<string, string> {
  const secret = randomBytes(32).toString("hex");
  return {
    ...readEnvExample(readText(".env.example")).values,
    POSTGRES_PASSWORD: secret,
    WEBHOOK_SECRETS_KEY: randomBytes(32).toString("base64"),
    WORKFLOW_BRIDGE_SECRET: secret,
    // Asked for by the file for Coolify, or made by it.
    DATABASE_URL: `postgres://postgres:${secret}@postgres.example.com:5432/postgres`,
    REDIS_URL: `redis://default:${secret}@redis.example.com:6379/0`,
    SERVICE_HEX_64_BRIDGE: secret,
    ...own,
  };
}
