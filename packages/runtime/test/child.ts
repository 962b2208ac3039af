import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

export interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves with the first line, past or to come, that holds the text. */
  line(text: string): Promise<string>;
  exit(): Promise<{ code: number | null; signal: string | null }>;
}

/** Runs a fixture as a real process; it is killed when the test ends. */
export function startFixture(name: string, words: string[] = []): Child {
  const child = spawn(process.execPath, ["--conditions=source", `${import.meta.dirname}/fixtures/${name}`, ...words], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const take = (line: string): void => {
    lines.push(line);
    for (const look of waiting) look();
  };
  createInterface({ input: child.stdout }).on("line", take);
  createInterface({ input: child.stderr }).on("line", take);
  const closed = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
  return {
    process: child,
    lines,
    exit: () => closed,
    line: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find((line) => line.includes(text));
          if (found === undefined) return;
          waiting.delete(look);
          resolve(found);
        };
        waiting.add(look);
        look();
        void closed.then(() => reject(new Error(`expected a line with ${text}, got:\n${lines.join("\n")}`)));
      }),
  };
}
