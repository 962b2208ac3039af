// Mostly waits: for backoffs, locks and outages.
import { afterEach, describe, it } from "vitest";
import { describeQueueBackend } from "../src/testing.ts";
import { postgresHarness } from "./support-postgres.ts";

describeQueueBackend(postgresHarness(), { describe, it, afterEach });
