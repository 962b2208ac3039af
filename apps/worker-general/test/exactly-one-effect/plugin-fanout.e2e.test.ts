import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { pluginFanout } from "../subjects/plugin-fanout.ts";

describeExactlyOneEffect(CONSUMER_MAP["plugin-fanout"], pluginFanout);
