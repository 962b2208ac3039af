// worker-general as a process of its own, with its gate open as far as a test's installation can have it: what pull workers could not work
// without is asked for, the proof of the map and an append-only file are not.
import { createEvictionCondition, createRecordKeyCondition } from "@toolctrl/consumer-map/gate";
import { runWorkerGeneral } from "../src/main.ts";

void runWorkerGeneral({ gate: ({ db, backend }) => [createRecordKeyCondition(db), createEvictionCondition(backend)] });
