import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { auditAppend } from "../subjects/audit-append.ts";

describeExactlyOneEffect(CONSUMER_MAP["audit-append"], auditAppend);
