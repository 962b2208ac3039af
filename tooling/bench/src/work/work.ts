import type { NewJob } from "@toolctrl/queue/port";
import type { AppName } from "../worker-processes.ts";

/** What the processes of an app are given to do. */
export interface Work {
  readonly app: AppName;
  /** What it is called in a title. */
  readonly title: string;
  /** What a reader must know of it. */
  readonly about: Readonly<Record<string, string | number>>;
  /** Of each process's environment. */
  readonly settings: Readonly<Record<string, string>>;
  /** A receipt of this consumer says that a job has ended. */
  readonly consumer: string;
  /** What it writes to. */
  readonly tables: readonly string[];
  jobs(count: number): NewJob[];
  /** Effects that were seen since the last time that this was asked. */
  takeEffects(): Promise<number>;
  close(): Promise<void>;
}
