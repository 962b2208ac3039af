import { randomUUID } from "node:crypto";
import type { Delivery } from "@toolctrl/consumer/define";
import type { Database } from "@toolctrl/db/client";
import type { JsonValue } from "@toolctrl/foundation/json";

export interface DeliveryParts {
  readonly type: string;
  readonly payload: JsonValue;
  readonly eventId?: string;
  readonly tenantId?: string;
  readonly position?: number;
  readonly effectEpoch?: number;
  readonly replayConsumer?: string;
}

/** A delivery as a consumer gets it, with no queue and no claim before it. */
export function deliveryOf(parts: DeliveryParts): Delivery {
  const { type, payload, eventId = randomUUID(), tenantId = "acme", position = 1, effectEpoch = 0, replayConsumer } = parts;
  return {
    eventId,
    tenantId,
    type,
    payload,
    effectEpoch,
    envelope: {
      v: 1,
      outboxEventId: eventId,
      tenantId,
      type,
      version: 1,
      position: String(position),
      generation: 0,
      effectEpoch,
      payload,
      ...(replayConsumer === undefined ? {} : { replayConsumer }),
      correlationId: null,
      causationId: null,
      depth: 0,
      traceparent: null,
      tracestate: null,
      createdAt: "2027-03-01T12:00:00.000Z",
    },
    failures: 0,
    maxAttempts: 8,
    signal: new AbortController().signal,
  };
}

/** The pool, its connections with a lock time-out of 50 ms. */
export function impatientPool(pool: Database["pool"]): Database["pool"] {
  return new Proxy(pool, {
    get(target, name) {
      // A pool's own query connects in a way that the one below does not know.
      if (name === "query") return target.query.bind(target);
      if (name !== "connect") return Reflect.get(target, name) as unknown;
      return async () => {
        const client = await target.connect();
        await client.query("SET lock_timeout = 50");
        const release = client.release.bind(client);
        client.release = () => release(true);
        return client;
      };
    },
  });
}
