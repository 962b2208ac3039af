import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Where the package finds what the map is compared with. */
export interface Places {
  /** The checkout around the package; in an image, where no sources are, a folder that says nothing. */
  readonly repository: string;
  /** What test runs leave behind. It is not committed; an image carries it. */
  readonly evidence: string;
  /** The hashes of the sources that an image was built from. */
  readonly sourceHashes: string;
}

/** The places of a package's folder: by default of this one, from its sources and from what is built of them alike, each one folder deep. */
export function placesOf(packageFolder: string = fileURLToPath(new URL("..", import.meta.url))): Places {
  return {
    repository: join(packageFolder, "..", ".."),
    evidence: join(packageFolder, "evidence.json"),
    sourceHashes: join(packageFolder, "dist", "source-hashes.json"),
  };
}
