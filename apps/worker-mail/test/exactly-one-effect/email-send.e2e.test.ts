import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { emailSend } from "../subjects/email-send.ts";

describeExactlyOneEffect(CONSUMER_MAP["email-send"], emailSend);
