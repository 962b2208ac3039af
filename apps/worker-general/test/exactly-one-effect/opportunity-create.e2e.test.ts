import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { opportunityCreate } from "../subjects/opportunity-create.ts";

describeExactlyOneEffect(CONSUMER_MAP["opportunity-create"], opportunityCreate);
