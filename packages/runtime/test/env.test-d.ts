import { expectTypeOf } from "vitest";
import { z } from "zod";
import { databaseEnv, loadEnv, outboxEnv, processEnv, queueEnv, resolveQueueBackend } from "../src/env.ts";

export function checkTypes(): void {
  const env = loadEnv(z.object({ ...processEnv, ...databaseEnv, ...queueEnv, ...outboxEnv }), {});
  expectTypeOf(env.NODE_ENV).toEqualTypeOf<"development" | "test" | "production">();
  expectTypeOf(env.DATABASE_URL).toEqualTypeOf<string>();
  expectTypeOf(env.DATABASE_POOL_MAX).toEqualTypeOf<number>();
  expectTypeOf(env.OUTBOX_WAKEUP).toEqualTypeOf<boolean>();
  expectTypeOf(env.OUTBOX_PULL_WORKER).toEqualTypeOf<"false" | "shadow" | "true">();
  expectTypeOf(env.QUEUE_BACKEND).toEqualTypeOf<"redis" | "postgres" | undefined>();
  expectTypeOf(resolveQueueBackend(env).kind).toEqualTypeOf<"redis" | "postgres">();
}
