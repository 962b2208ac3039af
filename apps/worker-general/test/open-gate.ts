// worker-general with its gate open, as a process of its own.
import { runWorkerGeneral } from "../src/main.ts";

void runWorkerGeneral({ gate: { check: () => Promise.resolve({ green: true, reasons: [] }) } });
