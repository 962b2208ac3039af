import { describeEnv } from "@toolctrl/runtime/env";
import { expect, test } from "vitest";
import { renderCliPage } from "../src/cli-page.ts";
import { renderConsumerMapPage } from "../src/consumer-map-page.ts";
import { renderEnvPage } from "../src/env-page.ts";
import { listProgramEnvs } from "../src/env-schemas.ts";
import { renderEventsPage } from "../src/events-page.ts";
import { listFiles, readText } from "../src/repository.ts";

test("docs/reference/events.md is what the catalogue and the routes say", async () => {
  await expect(renderEventsPage()).toMatchFileSnapshot("../../../docs/reference/events.md");
});

test("docs/reference/consumer-map.md is what the consumer map says", async () => {
  await expect(renderConsumerMapPage()).toMatchFileSnapshot("../../../docs/reference/consumer-map.md");
});

test("docs/reference/env.md is what the schemas of all programs say", async () => {
  await expect(await renderEnvPage()).toMatchFileSnapshot("../../../docs/reference/env.md");
});

test("docs/reference/cli-commands.md is what the commands say of themselves", async () => {
  await expect(await renderCliPage()).toMatchFileSnapshot("../../../docs/reference/cli-commands.md");
});

test("every variable of every program says what it is for and what it accepts", async () => {
  for (const { program, shape } of await listProgramEnvs()) {
    for (const variable of describeEnv(shape)) {
      const said = { about: expect.stringMatching(/\w{3}/), accepts: expect.stringMatching(/\w{2}/) };
      expect(variable, `${program} ${variable.name}`).toMatchObject(said);
    }
  }
});

test("the page of the environment has every variable that a program asks for by name", async () => {
  const page = await renderEnvPage();
  const asked = listFiles("{apps,packages,tooling}/*/src/**/*.ts").flatMap((path) =>
    [...readText(path).matchAll(/process\.env(?:\.|\[")([A-Z][A-Z0-9_]+)/g)].map(([, name = ""]) => name),
  );
  // Of the operating system, and between the parts of one test run.
  const others = asked.filter((name) => !/^(?:PATH|DOCKER_HOST|TESTKIT_\w+|CRASH_\w+)$/.test(name));
  expect(others).toContain("TEST_DATABASE_URL");
  expect(others.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});
