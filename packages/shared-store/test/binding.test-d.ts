import type { withOutboxIdempotency } from "@toolctrl/outbox-receiver/idempotency";
import type { BoundIdempotencyStore } from "@toolctrl/outbox-receiver/store";
import { expectTypeOf } from "vitest";
import type { createIdempotencyStore, IdempotencyStoreOptions } from "../src/create-idempotency-store.ts";
import type { KeyValueStore } from "../src/key-value.ts";

type Options = Parameters<typeof createIdempotencyStore>[0];
type Store = Parameters<typeof withOutboxIdempotency>[0];
interface SeedOptions {
  store: KeyValueStore;
  prefix: string;
  ttlSeconds: number;
}

// A store that is bound to no tenant or no consumer does not compile.
expectTypeOf<SeedOptions>().not.toExtend<Options>();
expectTypeOf<SeedOptions & { tenantId: string }>().not.toExtend<Options>();
expectTypeOf<SeedOptions & { consumer: string }>().not.toExtend<Options>();
expectTypeOf<SeedOptions & { tenantId: string; consumer: string }>().toExtend<Options>();
expectTypeOf<IdempotencyStoreOptions>().toEqualTypeOf<Options>();

// What createIdempotencyStore made is accepted; the same methods made by hand, or the port itself, are not.
expectTypeOf<ReturnType<typeof createIdempotencyStore>>().toExtend<Store>();
type HandMade = { [Name in keyof BoundIdempotencyStore as Name extends string ? Name : never]: BoundIdempotencyStore[Name] };
expectTypeOf<BoundIdempotencyStore>().toExtend<HandMade>();
expectTypeOf<HandMade>().not.toExtend<Store>();
expectTypeOf<KeyValueStore>().not.toExtend<Store>();
