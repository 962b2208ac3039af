import { createClosedGate } from "@toolctrl/outbox-drainer/switch";
import { runWorkerGeneral } from "./run.ts";

void runWorkerGeneral({ gate: createClosedGate() });
