import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { searchIndex } from "../subjects/search-index.ts";

describeExactlyOneEffect(CONSUMER_MAP["search-index"], searchIndex);
