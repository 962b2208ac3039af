import { createQueueBackend, type QueueBackendOptions } from "../backend.ts";
import type { NewJob, QueueBackend } from "../port.ts";

/** What the suite needs of a test runner; vitest's own functions fit. */
export interface SuiteApi {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>): void;
  afterEach(body: () => Promise<void>): void;
}

/** A job as the server stores it. */
export interface RawJob {
  readonly data: unknown;
  readonly returnvalue: unknown;
  /** Wait of the last delay, ms. */
  readonly delay: number;
  promote(): Promise<void>;
}

/** A server that one test has for itself, with a network in front of it that the test controls. */
export interface OwnServer {
  readonly options: QueueBackendOptions;
  /** The server ends, or begins (again). */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resets every connection. */
  cut(): void;
  /** No byte goes through, no connection ends. */
  silence(): void;
  resume(): Promise<void>;
  /** The server refuses writes, as a demoted primary does, or takes them again. */
  setReadOnly(readOnly: boolean): Promise<void>;
  close(): Promise<void>;
}

export interface QueueHarness {
  readonly kind: "redis" | "postgres";
  /** Options for a namespace nobody else uses, on a running server. Two backends made of the same options share it. */
  namespace(): Promise<QueueBackendOptions>;
  /** `begins`: whether the test begins with `start`. If not, the server has not begun when the test gets it. */
  ownServer(begins: boolean): Promise<OwnServer>;
  /** What the log has said so far, one JSON line each. */
  logged(): readonly string[];
  raw(options: QueueBackendOptions, job: Pick<NewJob, "queue" | "id">): Promise<RawJob>;
  /** Makes a job that the server will refuse, although it is a valid one. */
  poisonJob(options: QueueBackendOptions, id: string): Promise<NewJob>;
  /** Takes a running job away from its worker. */
  stealLock(options: QueueBackendOptions, job: Pick<NewJob, "queue" | "id">): Promise<void>;
  waitFor<T>(
    check: () => T | Promise<T>,
    options?: { timeoutMs?: number; what?: string },
  ): Promise<Exclude<T, false | null | undefined | 0 | "">>;
}

export const QUEUE = "outbox.audit";
export const OTHER_QUEUE = "outbox.notification";

export interface Opened {
  /** A backend that is closed after the test. */
  open(options: QueueBackendOptions, changes?: Partial<QueueBackendOptions>): Promise<QueueBackend>;
  /** One on a namespace of its own. */
  fresh(changes?: Partial<QueueBackendOptions>): Promise<{ backend: QueueBackend; options: QueueBackendOptions }>;
}

/** Remembers what a test opens and closes it afterwards. */
export function openedBackends(harness: QueueHarness, api: SuiteApi): Opened {
  const opened: QueueBackend[] = [];
  api.afterEach(async () => {
    await Promise.all(opened.splice(0).map((backend) => backend.close(300)));
  });
  const open = async (options: QueueBackendOptions, changes: Partial<QueueBackendOptions> = {}): Promise<QueueBackend> => {
    const backend = await createQueueBackend({ ...options, ...changes });
    opened.push(backend);
    return backend;
  };
  const fresh = async (changes: Partial<QueueBackendOptions> = {}): Promise<{ backend: QueueBackend; options: QueueBackendOptions }> => {
    const options = { ...(await harness.namespace()), ...changes };
    return { backend: await open(options), options };
  };
  return { open, fresh };
}

export function newJob(id: string, data: unknown = {}, queue: NewJob["queue"] = QUEUE): NewJob {
  return { queue, id, name: "test.thing.happened", data };
}

/** The error codes of a list of results; "ok" for those that were added. */
export function codesOf(results: readonly ({ ok: true } | { ok: false; error: Error })[]): string[] {
  return results.map((result) => (result.ok ? "ok" : String((result.error as Error & { code?: string }).code)));
}

/** A promise and its settling functions, with a signal for "has been called". */
export function gate(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}
