import type { Installation } from "../installation.ts";
import type { AnySubject } from "../subject.ts";
import { createConsumerRunner } from "./consumer-runner.ts";
import { createEffectRunner } from "./effect-runner.ts";

/** How events are delivered to a subject: a consumer by its queue, an after-save effect by a drainer. */
export interface Runner {
  /** The main file of a process with lanes. */
  readonly main: URL;
  /** Whether nobody else may have the installation's database: whoever drains takes every event. */
  readonly needsOwnDatabase: boolean;
  /** What has to be in an installation before its first event. */
  prepare(installation: Installation): Promise<void>;
  /** The environment of a lane. */
  env(installation: Installation): Readonly<Record<string, string>>;
  isServing(installation: Installation): Promise<boolean>;
  /** Lets the event's delivery of a generation come: from 0 on, a requeue each. Returns what it is waited for by. */
  deliver(installation: Installation, eventId: string, generation: number): Promise<string>;
  /** Lets it come once more, when all that would know of the first is gone but the consumer's own memory. */
  deliverForgotten(installation: Installation, eventId: string): Promise<string>;
  /** Has the subject run in this process while `work` lasts. */
  whileRunning<T>(installation: Installation, work: () => Promise<T>): Promise<T>;
  /** Waits until deliveries have ended, one way or the other. */
  untilEnded(installation: Installation, deliveries: readonly string[]): Promise<void>;
  isFinished(installation: Installation, eventId: string): Promise<boolean>;
  /** Attempts that deliveries have used. */
  attemptsOf(installation: Installation, deliveries: readonly string[]): Promise<number>;
  /** Deliveries whose handler was not even run, by the count of this process; undefined where nobody counts them. */
  suppressedOf(installation: Installation): Promise<number | undefined>;
}

export function runnerOf(subject: AnySubject): Runner {
  return "queue" in subject ? createConsumerRunner(subject) : createEffectRunner(subject);
}
