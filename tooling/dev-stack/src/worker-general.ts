// worker-general as the sample product composes it: with a plugin of its own, and with a gate that asks for record keys alone. A production
// process has the real gate, which asks for the proof of the consumer map and for a Redis that keeps its jobs; a sample needs neither.
import { createRecordKeyCondition } from "@toolctrl/consumer-map/gate";
import { runWorkerGeneral } from "@toolctrl/worker-general";
import { samplePluginFunctions } from "./cases/plugins.ts";

void runWorkerGeneral({ gate: ({ db }) => [createRecordKeyCondition(db)], pluginFunctions: samplePluginFunctions });
