import type { Database } from "@toolctrl/db/client";
import type { JsonValue } from "@toolctrl/foundation/json";
import { expect, test } from "vitest";
import { createPluginCapabilityConsumer } from "../src/consumers/create-plugin-capability-consumer.ts";
import { createPluginFanoutConsumer } from "../src/consumers/create-plugin-fanout-consumer.ts";
import { deliveryOf } from "./delivery-of.ts";

// What is refused is refused before any SQL.
const pool = { connect: () => Promise.reject(new Error("no SQL")) } as unknown as Database["pool"];
const backend = { addAll: () => Promise.reject(new Error("no job")) };

test.each<[string, JsonValue]>([
  ["pluginId", { pluginId: "a/secret", capability: "words", amount: 1 }],
  ["capability", { pluginId: "p", amount: 1 }],
  ["amount", { pluginId: "p", capability: "words", amount: 0 }],
  ["amount", { pluginId: "p", capability: "words", amount: 1.5 }],
  ["amount", { pluginId: "p", capability: "words", amount: "secret" }],
  ["amount", { pluginId: "p", capability: "words", amount: 1e15 }],
  ["secret", { pluginId: "p", capability: "words", amount: 1, secret: 1 }],
])("a use that is wrong at %s (%j) is refused, naming the place and not the value", async (path, payload) => {
  const delivery = deliveryOf({ type: "plugin.capability-use.recorded", payload });
  await expect(createPluginCapabilityConsumer({ pool }).handle(delivery)).rejects.toMatchObject({
    code: "RECEIVER.PAYLOAD",
    message: `expected the use of a capability, got another payload at ${path}`,
    facts: { paths: [path] },
  });
});

test.each<[string, JsonValue]>([
  ["an array", ["secret"]],
  ["null", null],
  ["string", "secret"],
])("a hook whose payload is %s is refused before anybody is called", async (got, payload) => {
  const delivery = deliveryOf({ type: "plugin.hook.lead.created", payload });
  await expect(createPluginFanoutConsumer({ pool, backend }).handle(delivery)).rejects.toMatchObject({
    code: "RECEIVER.PAYLOAD",
    message: `expected the payload of a hook to be a JSON object, got ${got}`,
  });
});
