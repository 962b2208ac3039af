// Asks the gate of each of the folders given, which are this package's sources or mutants of them, about the map. A line of JSON for each.
import type { StartCondition } from "@toolctrl/outbox-drainer/switch";

interface GateModule {
  createRolloutGate(): (deps: object) => readonly StartCondition[];
}

for (const folder of process.argv.slice(2)) {
  const { createRolloutGate } = (await import(`../${folder}/gate.ts`)) as GateModule;
  const [map] = createRolloutGate()({ votes: true }).filter(({ name }) => name === "consumer map");
  const answer = await map?.check();
  process.stdout.write(`${JSON.stringify({ folder, state: answer?.state, reasons: answer?.reasons.map(({ why }) => why) })}\n`);
}
