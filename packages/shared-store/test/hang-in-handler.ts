import { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import { Pool } from "pg";
import { createIdempotencyStore } from "../src/create-idempotency-store.ts";
import { createPostgresStore } from "../src/postgres.ts";
import { createRedisStore } from "../src/redis.ts";

// The child of crash.int.test.ts: takes an event, says so from inside the handler, and never ends.
const [kind, url = "", eventId = "", binding = ""] = process.argv.slice(2);
const store = kind === "redis" ? createRedisStore({ url }) : createPostgresStore({ pool: new Pool({ connectionString: url }) });
const bound = createIdempotencyStore({
  ...(JSON.parse(binding) as { prefix: string; ttlSeconds: number; tenantId: string; consumer: string }),
  store,
});

await withOutboxIdempotency(bound, eventId, async () => {
  process.stdout.write("in the handler\n");
  await new Promise(() => setInterval(() => undefined, 60_000));
});
