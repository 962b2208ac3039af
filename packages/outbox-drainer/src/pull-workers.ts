export { createPullWorkers, type PullSettings, type PullWorkers, type PullWorkersDeps } from "./pull/pull-workers.ts";
