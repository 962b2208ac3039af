import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { formRoute } from "../subjects/form-route.ts";

describeExactlyOneEffect(CONSUMER_MAP["form-route"], formRoute);
