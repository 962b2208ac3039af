import type { RouteRule } from "@toolctrl/event-router/router";
import type { ConsumerMapEntry } from "../entry.ts";

/** What a process says of itself when it registers. */
export interface LiveApp {
  readonly app: string;
  readonly consumers: readonly string[];
  readonly queues: readonly string[];
}

export interface LiveEffect {
  readonly name: string;
  /** Event types it runs for, by prefix or whole. */
  readonly on: readonly string[];
}

/** What the map has to agree with: names, queues and routes as they are declared. */
export interface Declared {
  readonly consumers: Readonly<Record<string, string>>;
  readonly queues: readonly string[];
  readonly routes: readonly RouteRule[];
}

/** What runs: the registered workers of the composed apps, and the after-save effects. */
export interface Live {
  readonly apps: readonly LiveApp[];
  readonly effects: readonly LiveEffect[];
}

/** A map under comparison: any names, since it is what is missing that is looked for. */
export interface MapUnderTest {
  readonly entries: Readonly<Record<string, ConsumerMapEntry>>;
  readonly queuesWithoutEvents: readonly string[];
}
