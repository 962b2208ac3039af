import { expect, test } from "vitest";
import { checkDockerfile } from "../src/dockerfile/check-dockerfile.ts";
import { FILES } from "./files.ts";

test("the Dockerfile installs what is pinned, and makes an image in which node is the first process and nobody is root", () => {
  expect(checkDockerfile(FILES.dockerfile)).toEqual([]);
});

const CASES: ReadonlyArray<[what: string, part: string | RegExp, instead: string, problem: string]> = [
  ["root", "USER node\n", "", "expected a USER other than root"],
  ["a command in one text", /^CMD .+$/m, "CMD node node_modules/@toolctrl/cli/dist/main.js", "as a list of words, which needs no shell"],
  [
    "a package manager as the first process",
    `ENTRYPOINT ["node"]`,
    `ENTRYPOINT ["pnpm", "start"]`,
    "expected the ENTRYPOINT to be node alone",
  ],
  ["curl", "WORKDIR /src\n", "WORKDIR /src\nRUN apt-get install --yes curl\n", "expected nothing but what the base has"],
  ["a base that moves", /FROM node:[\d.]+-bookworm-slim AS image/, "FROM node:lts-slim AS image", "expected the base node:24.21.0-…-slim"],
  ["another Node than the tests'", /node:24\.21\.0/, "node:24.1.0", "the version that tests run on, got node:24.1.0"],
  ["the tools in the image", /FROM \S+ AS image/, "FROM built AS image", "expected the image to begin with a base of its own"],
  ["another package manager than everywhere else", /pnpm@[\d.]+/, "pnpm@10.0.0", "expected pnpm@12.4.2"],
  ["another turbo than everywhere else", /turbo@[\d.]+/, "turbo@2.0.0", "expected turbo@2.11.11"],
  ["an install that may change the lock file", " --frozen-lockfile", "", "expected an install with --frozen-lockfile"],
  ["the development dependencies", " --prod", "", "expected pnpm deploy with --prod"],
  ["an absolute path in a step", "--prod ../image", "--prod /image", "expected relative paths"],
  [
    "an instruction that only an engine can run",
    "USER node\n",
    "USER node\nVOLUME /data\n",
    "that can be run without an engine, got VOLUME /data",
  ],
];

test.each(CASES)("with %s it is found out", (_what, part, instead, problem) => {
  const text = FILES.dockerfile.replace(part, instead);
  expect(text).not.toBe(FILES.dockerfile);
  expect(checkDockerfile(text).join("\n")).toContain(problem);
});
