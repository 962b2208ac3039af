import { checkPackage, Package } from "@arethetypeswrong/core";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import type { PackedPackage } from "./packed-package.ts";

/**
 * The resolutions that the packages are not for; attw calls the profile without them `esm-only`. They are ES modules alone: `require` gives
 * them to CommonJS on Node 22.12 and later, of which TypeScript's node16 mode does not know, and node10 knows no export maps.
 */
const NOT_FOR = new Set<unknown>(["node10", "node16-cjs"]);

/** What publint says of a package, its warnings and suggestions included. */
export async function lintWithPublint({ files }: PackedPackage): Promise<string[]> {
  const packed = [...files].map(([path, data]) => ({ name: `package/${path}`, data }));
  const { messages, pkg } = await publint({ pkgDir: "package", pack: { files: packed }, strict: true, level: "suggestion" });
  return messages.map((message) => `publint: ${formatMessage(message, pkg, { color: false }) ?? message.code}`);
}

/** What attw says of the types of a package, for ES modules under node16 and for bundlers. */
export async function lintWithAttw({ manifest, files }: PackedPackage): Promise<string[]> {
  const { name, version } = manifest;
  const installed = [...files].map(([path, text]) => [`/node_modules/${name}/${path}`, text] as const);
  const result = await checkPackage(new Package(Object.fromEntries(installed), name, version));
  if (result.types === false) return ["attw: expected types, got none"];
  return result.problems.flatMap((problem) => {
    const resolution =
      "resolutionKind" in problem ? problem.resolutionKind : "resolutionOption" in problem ? problem.resolutionOption : null;
    return NOT_FOR.has(resolution)
      ? []
      : [`attw: ${JSON.stringify(problem, (key, value: unknown) => (key === "trace" ? undefined : value))}`];
  });
}
