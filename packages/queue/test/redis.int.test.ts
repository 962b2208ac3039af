// Mostly waits: for backoffs, locks and outages.
import { afterEach, describe, it } from "vitest";
import { describeQueueBackend } from "../src/testing.ts";
import { redisHarness } from "./support-redis.ts";

describeQueueBackend(redisHarness(), { describe, it, afterEach });
