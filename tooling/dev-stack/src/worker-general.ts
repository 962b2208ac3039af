// worker-general with its gate open: what `npm start -- --mode pull` runs. A production process composes the app with the real gate.
import { runWorkerGeneral } from "@toolctrl/worker-general";

void runWorkerGeneral({ gate: { check: () => Promise.resolve({ green: true, reasons: [] }) } });
