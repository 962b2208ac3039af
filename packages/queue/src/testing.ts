import { describeAdding } from "./testing/adding.ts";
import { describeClosing } from "./testing/closing.ts";
import { describeDelivering } from "./testing/delivering.ts";
import { describeLocks } from "./testing/locks.ts";
import { describeOutages } from "./testing/outages.ts";
import { describeScheduling } from "./testing/scheduling.ts";
import type { QueueHarness, SuiteApi } from "./testing/harness.ts";

export type { OwnServer, QueueHarness, RawJob, SuiteApi } from "./testing/harness.ts";

/** The conformance suite of the queue port: both backends run it, on real servers. */
export function describeQueueBackend(harness: QueueHarness, api: SuiteApi): void {
  api.describe(`queue port: ${harness.kind}`, () => {
    describeAdding(harness, api);
    describeDelivering(harness, api);
    describeLocks(harness, api);
    describeClosing(harness, api);
    describeScheduling(harness, api);
    describeOutages(harness, api);
  });
}
