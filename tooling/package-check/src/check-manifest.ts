import type { PackedPackage } from "./packed-package.ts";

/** What `pnpm pack` puts a version in the place of. */
const WORKSPACE_ONLY = /^(?:workspace|catalog|file|link):/;

/** `require` of an ES module needs no flag from 22.12 on, undici 8 needs 22.19: an older Node.js fails while it imports the guarded HTTP client. */
const NODE = ">=22.19";

/** What is wrong with a packed manifest, a sentence each. */
export function checkManifest({ manifest, files }: PackedPackage): string[] {
  const { exports = {}, dependencies = {}, peerDependencies = {}, engines = {} } = manifest;
  const problems: string[] = [];
  for (const [subpath, target] of Object.entries(exports)) {
    if (typeof target !== "string") {
      // Of several, the first condition that fits is taken: `types` behind `default` would never be seen.
      problems.push(`expected ${subpath} to lead to one file, its types beside it, got the conditions ${Object.keys(target).join(", ")}`);
      continue;
    }
    for (const file of [target, target.replace(/\.js$/, ".d.ts")]) {
      if (!files.has(file.replace("./", ""))) problems.push(`expected ${file}, which ${subpath} leads to, got no such file`);
    }
  }
  for (const [name, version] of Object.entries({ ...dependencies, ...peerDependencies })) {
    if (WORKSPACE_ONLY.test(version)) problems.push(`expected a version of ${name}, got ${version}`);
  }
  // BullMQ has ioredis as an optional peer: where nobody declares it, it is missing, or another version than the one that was tested.
  if (dependencies.bullmq !== undefined && (dependencies.ioredis ?? peerDependencies.ioredis) === undefined) {
    problems.push("expected ioredis beside bullmq among the dependencies, got none");
  }
  if (engines.node !== NODE) problems.push(`expected engines.node to be ${NODE}, got ${String(engines.node)}`);
  return problems;
}
