import { afterAll, beforeAll, describe, it } from "vitest";
import { describeIdempotencyProtocol, describeKeyValueStore } from "../src/testing.ts";
import { ADAPTERS } from "./fixtures.ts";

const api = { afterAll, beforeAll, describe, it };

for (const [name, open] of ADAPTERS) {
  describeKeyValueStore(name, open, api);
  describeIdempotencyProtocol(name, open, api);
}
