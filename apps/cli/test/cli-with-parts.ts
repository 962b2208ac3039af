// The command line as a process of its own, with parts that a test chooses: the proof of its consumer map is that of the folder MAP_FOLDER,
// and the route of the prefix HELD_ROUTE is held.
import { createMapProver } from "@toolctrl/consumer-map/proof";
import { processIo } from "../src/io.ts";
import { runCli } from "../src/run-cli.ts";

const { MAP_FOLDER, HELD_ROUTE } = process.env;
const hold = { consumer: "audit-append", reason: "its proof is on its way", since: "2026-12-02" };

async function main(): Promise<void> {
  process.exitCode = await runCli(process.argv.slice(2), processIo(), {
    ...(MAP_FOLDER === undefined ? {} : { proveMap: createMapProver({ packageFolder: MAP_FOLDER }) }),
    heldBy: ({ prefix }) => (prefix === HELD_ROUTE ? hold : null),
  });
}

void main();
