import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { pluginCapabilityCount } from "../subjects/plugin-capability-count.ts";

describeExactlyOneEffect(CONSUMER_MAP["plugin-capability-count"], pluginCapabilityCount);
