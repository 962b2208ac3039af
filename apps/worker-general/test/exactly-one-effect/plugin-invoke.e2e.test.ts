import { describeExactlyOneEffect } from "@toolctrl/consumer-testkit/exactly-one-effect";
import { CONSUMER_MAP } from "@toolctrl/consumer-map/map";
import { startHttpPeer } from "@toolctrl/testkit/http-peer";
import { describe } from "vitest";
import { pluginInvoke, pluginInvokeFunction } from "../subjects/plugin-invoke.ts";

describeExactlyOneEffect(CONSUMER_MAP["plugin-invoke"], pluginInvoke(await startHttpPeer()));

describe("a function", () => {
  describeExactlyOneEffect({ ...CONSUMER_MAP["plugin-invoke"], effect: "database" }, pluginInvokeFunction);
});
