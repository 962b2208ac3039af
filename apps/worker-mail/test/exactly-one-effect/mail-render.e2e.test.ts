import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { mailRender } from "../subjects/mail-render.ts";

describeExactlyOneEffect(CONSUMER_MAP["mail-render"], mailRender);
