import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { aiCostRecord } from "../subjects/ai-cost-record.ts";

describeExactlyOneEffect(CONSUMER_MAP["ai-cost-record"], aiCostRecord);
