import type { Consumer } from "@toolctrl/consumer/define";
import type { AfterSaveEffect } from "@toolctrl/db/after-save-effect";
import type { QueueName } from "@toolctrl/foundation/queues";
import type { App } from "./app-process.ts";
import type { Installation } from "./installation.ts";

/** A real server that the consumer calls, as `startSmtpPeer` and `startHttpPeer` of testkit are. */
export interface Peer {
  readonly port: number;
  /** Connections that clients have to it now. */
  connections(): number;
}

/** What runs for an event, and how its effects are told apart from others'. Everything is asked of one event in one installation. */
interface Effectful {
  readonly name: string;
  /** Makes an event that has not been delivered yet, and what has to be there before it; returns its id. */
  publish(installation: Installation): Promise<string>;
  /** A table that its handler reads or writes on the way to its effect: while it is locked, the handler stands still. */
  readonly table: string;
  /** How often the effect of the event is there: rows, mails, requests. */
  effects(installation: Installation, eventId: string): Promise<number>;
  /**
   * Of one that calls somebody: under which ids the other side was called for the event, each call, in order: Message-IDs,
   * webhook-ids, idempotency keys. Calls are the effect then, and a repeat after a crash is allowed where it was recorded.
   */
  calls?(installation: Installation, eventId: string): Promise<readonly string[]>;
  /** Whom it calls, by a label each: these calls are crash points too. */
  peers?(): Readonly<Record<string, Peer>>;
  /** Throws where something else is not as it has to be once the event is finished. */
  check?(installation: Installation, eventId: string): Promise<void>;
  /**
   * Takes away what guards it beyond receipts and claims: a natural key, a settled intent, the other side's memory of keys.
   * Without all of it, two deliveries must show as 2 in `effects`. The installation's database is its own.
   */
  removeProtection?(installation: Installation): Promise<void>;
}

/** A consumer of a queue. */
export interface Subject extends Effectful {
  readonly queue: QueueName;
  /** The consumer as a process: a main file that calls `runOneConsumer`. Calls to others must end well within the life of a claim, ms. */
  readonly app: (claimTtlMs: number) => App;
  /** The consumers of its app, made as its main file makes them. */
  consumers(installation: Installation): { readonly consumers: readonly Consumer[]; close?(): Promise<void> };
  /** Adds the event's job of a generation; returns the job's id. */
  add(installation: Installation, eventId: string, generation: number): Promise<string>;
}

/** An after-save effect, which a drainer runs in its attempt at the event. */
export interface AfterSaveSubject extends Effectful {
  /** A drainer as a process: a main file that calls `runOneDrainer`. */
  readonly drainer: URL;
  /** The effects that it and the drainer of this process know. */
  readonly afterSaveEffects: readonly AfterSaveEffect[];
}

export type AnySubject = Subject | AfterSaveSubject;
