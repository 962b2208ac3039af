// Leaves behind, for images, which have no sources, what the evidence is compared with there: the hashes of the sources as they are built.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { placesOf } from "../src/places.ts";
import { listProofs } from "../src/proofs.ts";
import { hashProofs } from "../src/sources/hash-proofs.ts";

const { repository, sourceHashes } = placesOf();
const hashes = hashProofs(repository, listProofs());
for (const [name, answer] of hashes) {
  // An image that cannot be compared would be red for good, and nobody would know why.
  if ("missing" in answer) throw new Error(`expected the sources of ${name}, got nothing at ${answer.missing.join(", ")}`);
}
await mkdir(dirname(sourceHashes), { recursive: true });
await writeFile(sourceHashes, `${JSON.stringify(Object.fromEntries(hashes), null, 2)}\n`);
process.stdout.write(`the hashes of ${hashes.size} proofs are in ${sourceHashes}\n`);
