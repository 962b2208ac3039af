import type { ConsumersOf } from "@toolctrl/consumer/define";
import type { ConsumerMap } from "@toolctrl/consumer-map/map";
import { expectTypeOf, test } from "vitest";
import type { createConsumers } from "../src/consumers.ts";

type Consumers = ReturnType<typeof createConsumers>;

test("the app runs exactly the consumers of its queues, and each of them has an entry on the map", () => {
  expectTypeOf<Consumers>().toEqualTypeOf<ConsumersOf<"general">>();
  expectTypeOf<keyof Consumers>().toExtend<keyof ConsumerMap>();
});
