import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { notificationCreate } from "../subjects/notification-create.ts";

describeExactlyOneEffect(CONSUMER_MAP["notification-create"], notificationCreate);
