import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { marketingSync } from "../subjects/marketing-sync.ts";

describeExactlyOneEffect(CONSUMER_MAP["marketing-sync"], marketingSync);
