import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "@toolctrl/docs-check/repository";
import { readManifest } from "../read-manifest.ts";

/** The package of the image: `pnpm deploy` of it is what the image consists of. */
export const IMAGE_FOLDER = "deploy";

/** What is wrong with a command of the image, or null: the build has to make the file that it names. */
export function commandProblem(command: readonly string[] | undefined, app: string): string | null {
  const [file = "nothing", ...args] = command ?? [];
  const [, name = ""] = /^node_modules\/(@toolctrl\/[\w-]+)\/dist\/main\.js$/.exec(file) ?? [];
  if (name !== `@toolctrl/${app}`) return `expected it to start node_modules/@toolctrl/${app}/dist/main.js, got ${file}`;
  if (args.some((word) => word.startsWith("/") || /[;&|]/.test(word))) return `expected plain words after ${file}, got ${args.join(" ")}`;
  const { dependencies = {} } = readManifest(IMAGE_FOLDER);
  if (dependencies[name] === undefined) return `expected ${IMAGE_FOLDER}/package.json to bring ${name}, it does not`;
  const { name: built, exports = { ".": { source: "./src/main.ts" } } } = readManifest(join("apps", app));
  const sources = Object.values(exports).map(({ source }) => source);
  const isBuilt = built === name && sources.includes("./src/main.ts") && existsSync(join(ROOT, "apps", app, "src", "main.ts"));
  return isBuilt ? null : `expected the build of apps/${app} to make dist/main.js, it does not`;
}

/** The same of a health check: the file is one that the image has. */
export function healthProblem(test: readonly string[] | undefined): string | null {
  const [kind, program, file = "nothing", ...rest] = test ?? [];
  if (kind !== "CMD" || program !== "node")
    return `expected a health check by node, which is all that the image has, got ${test?.join(" ") ?? "none"}`;
  const { files = [] } = readManifest(IMAGE_FOLDER);
  if (!files.includes(file) || !existsSync(join(ROOT, IMAGE_FOLDER, file)))
    return `expected the health check to run a file of ${IMAGE_FOLDER}, got ${file}`;
  // Asked for readiness, an outage of Redis or of the database would mark every container unhealthy.
  return rest.length === 0 ? null : `expected the health check to ask for life alone, got ${rest.join(" ")}`;
}
