import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { webhookDeliver } from "../subjects/webhook-deliver.ts";

describeExactlyOneEffect(CONSUMER_MAP["webhook-deliver"], webhookDeliver);
