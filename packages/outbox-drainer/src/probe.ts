export { publishProbes, type PublishedProbe } from "./probe/publish-probes.ts";
export { watchProbes, type ProbeProgress, type ProbeReceipt } from "./probe/watch-probes.ts";
