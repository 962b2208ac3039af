import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";

/** A shell that keeps what was typed into it: its folder, its variables, its jobs. */
export interface Shell {
  /** Runs one command line and gives what it printed. @throws Error when it ends with another code than 0, or not in time. */
  run(command: string): Promise<string>;
  /** Ends it, and whatever was started in it. */
  close(): Promise<void>;
}

const COMMAND_MS = 180_000;
/** No command of a document prints it. */
const END = "\u0001";

export function openShell(options: { readonly folder: string; readonly env: NodeJS.ProcessEnv }): Shell {
  const { folder, env } = options;
  // A group of its own: what a command leaves running ends with it.
  const bash = spawn("bash", ["--noprofile", "--norc"], { cwd: folder, env, detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const ended = once(bash, "close");
  let errors = "";
  bash.stderr.on("data", (chunk: Buffer) => (errors += String(chunk)));
  return {
    async run(command) {
      errors = "";
      bash.stdin.write(`${command}\nprintf '${END}%s${END}' "$?"\n`);
      const { output, code } = await readAnswer(bash, command);
      if (code !== "0") throw new Error(`expected \`${command}\` to end with 0, got ${code}: ${errors}${output}`);
      return output;
    },
    async close() {
      if (bash.pid !== undefined && bash.exitCode === null) process.kill(-bash.pid, "SIGKILL");
      await ended;
    },
  };
}

function readAnswer(bash: ChildProcess, command: string): Promise<{ output: string; code: string }> {
  return new Promise((resolve, reject) => {
    let output = "";
    const stop = (): void => {
      clearTimeout(timer);
      bash.stdout?.off("data", read);
      bash.off("close", gone);
    };
    const fail = (got: string): void => {
      stop();
      reject(new Error(`expected \`${command}\` to end, got ${got}; it printed ${output}`));
    };
    const gone = (): void => fail("the end of the shell");
    const timer = setTimeout(() => fail(`nothing within ${COMMAND_MS} ms`), COMMAND_MS);
    const read = (chunk: Buffer): void => {
      output += String(chunk);
      const [printed = "", code, rest] = output.split(END);
      if (code === undefined || rest === undefined) return;
      stop();
      resolve({ output: printed, code });
    };
    bash.stdout?.on("data", read);
    bash.on("close", gone);
  });
}
