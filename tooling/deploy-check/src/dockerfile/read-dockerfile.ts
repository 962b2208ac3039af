/** An instruction of a stage. */
export type Instruction =
  | { readonly kind: "RUN"; readonly command: string }
  | { readonly kind: "COPY"; readonly from: string | null; readonly sources: readonly string[]; readonly target: string }
  | { readonly kind: "ENV"; readonly values: Readonly<Record<string, string>> }
  | { readonly kind: "WORKDIR" | "USER"; readonly value: string }
  | { readonly kind: "ENTRYPOINT" | "CMD"; readonly words: readonly string[] };

export interface Stage {
  readonly name: string;
  /** An image, or the name of an earlier stage. */
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

/**
 * The stages of a Dockerfile, in order.
 * @throws Error for an instruction that is not one of those above in its plainest form: what cannot be read cannot be run without an engine
 */
export function readDockerfile(text: string): Stage[] {
  const stages: Array<{ name: string; base: string; instructions: Instruction[] }> = [];
  for (const line of linesOf(text)) {
    const [, keyword = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    if (keyword === "FROM") {
      const [, base, name] = /^(\S+) AS (\S+)$/.exec(rest) ?? [];
      if (base === undefined || name === undefined) throw unread(line);
      stages.push({ name, base, instructions: [] });
      continue;
    }
    const stage = stages.at(-1);
    if (stage === undefined) throw unread(line);
    stage.instructions.push(readInstruction(keyword, rest, line));
  }
  return stages;
}

function linesOf(text: string): string[] {
  const kept = text.split("\n").filter((line) => !line.trimStart().startsWith("#"));
  return kept
    .join("\n")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function readInstruction(keyword: string, rest: string, line: string): Instruction {
  switch (keyword) {
    case "RUN":
      if (rest.startsWith("[") || rest.startsWith("--")) throw unread(line);
      return { kind: "RUN", command: rest };
    case "COPY":
      return readCopy(rest, line);
    case "ENV":
      return {
        kind: "ENV",
        values: Object.fromEntries(rest.split(/\s+/).map((pair) => [pair.split("=", 1)[0] ?? "", pair.replace(/^[^=]*=/, "")])),
      };
    case "WORKDIR":
    case "USER":
      return { kind: keyword, value: rest };
    case "ENTRYPOINT":
    case "CMD":
      return { kind: keyword, words: readWords(rest, line) };
    default:
      throw unread(line);
  }
}

function readCopy(rest: string, line: string): Instruction {
  const [, from = null, paths = ""] = /^(?:--from=(\S+)\s+)?(.*)$/.exec(rest) ?? [];
  const words = paths.split(/\s+/);
  const target = words.pop();
  if (target === undefined || words.length === 0 || words.some((word) => word.startsWith("-"))) throw unread(line);
  return { kind: "COPY", from, sources: words, target };
}

function readWords(rest: string, line: string): string[] {
  // In one text a shell would be the first process.
  if (!rest.startsWith("[")) throw new Error(`expected ${line} as a list of words, which needs no shell`);
  return JSON.parse(rest) as string[];
}

function unread(line: string): Error {
  return new Error(`expected an instruction that can be run without an engine, got ${line}`);
}
