import { readText } from "@toolctrl/docs-check/repository";
import { parse } from "yaml";
import { readManifest } from "../read-manifest.ts";
import { readDockerfile, type Stage } from "./read-dockerfile.ts";

/** What is wrong with a Dockerfile, a line each. */
export function checkDockerfile(text: string): string[] {
  let stages: Stage[];
  try {
    stages = readDockerfile(text);
  } catch (error) {
    return [(error as Error).message];
  }
  const image = stages.at(-1);
  if (image === undefined) return ["expected a stage, got none"];
  return [...baseProblems(stages), ...runProblems(stages), ...imageProblems(image), ...versionProblems(text)];
}

/** The pinned versions of the workspace. */
function readCatalog(): Readonly<Record<string, string>> {
  return (parse(readText("pnpm-workspace.yaml")) as { catalog: Record<string, string> }).catalog;
}

function baseProblems(stages: readonly Stage[]): string[] {
  const names = new Set(stages.map(({ name }) => name));
  const bases = stages.map(({ base }) => base).filter((base) => !names.has(base));
  const expected = `node:${readCatalog()["node"] ?? ""}-`;
  return bases
    .filter((base) => !base.startsWith(expected) || !base.endsWith("-slim"))
    .map((base) => `expected the base ${expected}…-slim, the version that tests run on, got ${base}`);
}

function runProblems(stages: readonly Stage[]): string[] {
  const runs = stages.flatMap(({ instructions }) => instructions).flatMap((step) => (step.kind === "RUN" ? [step.command] : []));
  return [
    ...runs.filter((run) => /\b(?:curl|wget|apt-get|apk)\b/.test(run)).map((run) => `expected nothing but what the base has, got ${run}`),
    ...runs.filter((run) => /(?:^|\s)\//.test(run)).map((run) => `expected relative paths, got ${run}`),
    ...(runs.some((run) => /\bpnpm install\b.*--frozen-lockfile/.test(run))
      ? []
      : ["expected an install with --frozen-lockfile, got none"]),
    ...(runs.some((run) => /\bturbo prune\b.*--docker/.test(run)) ? [] : ["expected turbo prune with --docker, got none"]),
    ...(runs.some((run) => /\bdeploy\b.*--prod/.test(run)) ? [] : ["expected pnpm deploy with --prod, got none"]),
  ];
}

/** The stage that becomes the image: nothing is run in it, nobody is root, and node is the first process. */
function imageProblems({ base, instructions }: Stage): string[] {
  const user = instructions.flatMap((step) => (step.kind === "USER" ? [step.value] : [])).at(-1) ?? "root";
  const entrypoint = instructions.flatMap((step) => (step.kind === "ENTRYPOINT" ? [step.words] : [])).at(-1) ?? [];
  const production = instructions.some((step) => step.kind === "ENV" && step.values["NODE_ENV"] === "production");
  return [
    ...(/^(?:root|0)(?::|$)/.test(user) ? ["expected a USER other than root"] : []),
    ...(entrypoint.length === 1 && entrypoint[0] === "node"
      ? []
      : [`expected the ENTRYPOINT to be node alone, got ${entrypoint.join(" ") || "none"}`]),
    ...(production ? [] : ["expected NODE_ENV=production in the image"]),
    ...(base.includes(":") ? [] : [`expected the image to begin with a base of its own, got ${base}`]),
    ...(instructions.some((step) => step.kind === "RUN") ? ["expected no RUN in the image"] : []),
  ];
}

function versionProblems(text: string): string[] {
  const wanted = [readManifest(".").packageManager ?? "", `turbo@${readCatalog()["turbo"] ?? ""}`];
  return wanted
    .filter((tool) => !text.includes(`${tool} `) && !text.includes(`${tool}\n`))
    .map((tool) => `expected ${tool}, as everywhere else`);
}
