import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { fieldSets } from "../subjects/field-sets.ts";

describeExactlyOneEffect(CONSUMER_MAP["field-sets"], fieldSets);
