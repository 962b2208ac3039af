import { globSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { readText, ROOT } from "@toolctrl/docs-check/repository";
import { expect, test } from "vitest";
import { readCompose, type Compose } from "../src/compose/read-compose.ts";
import { loadPrograms } from "../src/programs.ts";
import { readEnvExample, referencesOf, renderEnvExample } from "../src/render-env-example.ts";
import { FILES } from "./files.ts";

function composeOf(text: string): Compose {
  const read = readCompose(text);
  if ("problems" in read) throw new Error(read.problems.join("\n"));
  return read.compose;
}

const files = { plain: composeOf(FILES.plain), coolify: composeOf(FILES.coolify) };

/** Every variable of every schema that an app exports. */
async function namesOfSchemas(): Promise<Set<string>> {
  const names = globSync("apps/*/src/env.ts", { cwd: ROOT }).map(async (path) => {
    const module: Record<string, unknown> = await import(pathToFileURL(join(ROOT, path)).href);
    return Object.values(module).flatMap((value) =>
      typeof value === "object" && value !== null && "shape" in value ? Object.keys(value.shape as object) : [],
    );
  });
  return new Set((await Promise.all(names)).flat());
}

test(".env.example is what the schemas and the compose files say", async () => {
  await expect(renderEnvExample(await loadPrograms(), files)).toMatchFileSnapshot(join(ROOT, ".env.example"));
});

test(".env.example has every variable that a program reads or the compose file for a plain host uses, once, and no other", async () => {
  const { names } = readEnvExample(readText(".env.example"));
  expect([...names].sort()).toEqual([...new Set([...(await namesOfSchemas()), ...referencesOf(files.plain).keys()])].sort());
});

test(".env.example gives values for what has no default, but for secrets: those stay empty, and Compose refuses them so", () => {
  const { values } = readEnvExample(readText(".env.example"));
  const required = [...referencesOf(files.plain).values()].filter(({ kind }) => kind === "required").map(({ name }) => name);
  expect(Object.keys(values).sort()).toEqual(
    [...required, "POSTGRES_PASSWORD"].filter((name, index, all) => all.indexOf(name) === index).sort(),
  );
  expect(
    Object.keys(values)
      .filter((name) => values[name] === "")
      .sort(),
  ).toEqual(["POSTGRES_PASSWORD", "WEBHOOK_SECRETS_KEY", "WORKFLOW_BRIDGE_SECRET"]);
});
