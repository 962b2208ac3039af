// Compares the map with what is declared and with what the last runs of the tests have shown. Prints the map; ends with 1 when something
// is missing, after saying what. `pnpm consumer-map`, with --json for programs.
import { describeConsumerMap, type DescribedConsumer } from "../src/describe.ts";
import { createMapProver } from "../src/proof.ts";

const map = describeConsumerMap(await createMapProver()());
process.stdout.write(process.argv.includes("--json") ? `${JSON.stringify(map, null, 2)}\n` : tableOf(map.consumers));
for (const reason of map.reasons) process.stderr.write(`${reason}\n`);
process.stderr.write(map.proven ? "consumer map: proven\n" : `consumer map: ${map.reasons.length} reasons against it\n`);
process.exitCode = map.proven ? 0 : 1;

function tableOf(consumers: readonly DescribedConsumer[]): string {
  const rows = [["CONSUMER", "QUEUE", "EFFECT", "PROTECTION", "EVIDENCE"], ...consumers.map(rowOf)];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return `${rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ")).join("\n")}\n`;
}

function rowOf({ name, queue, effect, protection, scope, proof }: DescribedConsumer): string[] {
  return [name, queue, effect, protection, scope.in ? evidenceOf(proof) : `out of scope since ${scope.since}: ${scope.reason}`];
}

function evidenceOf(proof: DescribedConsumer["proof"]): string {
  if (proof.ranAt === null) return "none";
  return proof.reasons.length === 0 ? `${proof.tests} tests passed at ${proof.ranAt}` : "does not hold";
}
