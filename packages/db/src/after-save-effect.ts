import type { EffectName } from "@toolctrl/foundation/consumers";
import type { JsonValue } from "@toolctrl/foundation/json";
import type { Prisma } from "./generated/client.ts";

/** The event an after-save effect runs for: the frozen snapshot of its publisher, and its place in its record's line. */
export interface EffectEvent {
  readonly id: string;
  readonly tenantId: string;
  readonly type: string;
  readonly payload: JsonValue;
  /** Insert order: an effect that sets a value guards with it (`appliedPosition < position`). */
  readonly position: bigint;
  readonly recordKey: string | null;
  readonly correlationId: string | null;
  readonly depth: number;
}

/**
 * An after-save effect: writes of the attempt's own transaction, so that effects and `DONE` commit together.
 *
 * `tx` is revoked when `run` returns or throws: a call made later is refused, one in flight is awaited before anything is settled.
 * Throw to fail the attempt: everything is rolled back and the event backs off. Lock time-outs are told apart by themselves.
 * `signal` aborts when the attempt's lease is lost: whatever it does is then rolled back.
 */
export interface AfterSaveEffect {
  /** The name of its receipt. */
  readonly name: string;
  /** Event types it runs for, by prefix (ends in a dot) or whole. */
  readonly on: readonly string[];
  run(tx: Prisma.TransactionClient, event: EffectEvent, signal?: AbortSignal): Promise<void>;
}

/** An effect of the product's own table of consumers. */
export type NamedEffect<Name extends EffectName> = AfterSaveEffect & { readonly name: Name };

/** The effects of an event type, in the order they were registered. */
export type EffectsOf = (eventType: string) => readonly AfterSaveEffect[];

/** @throws TypeError when two effects share a name: their receipts would be one. */
export function createEffects(effects: readonly AfterSaveEffect[]): EffectsOf {
  const names = new Set<string>();
  for (const { name } of effects) {
    if (names.has(name)) throw new TypeError(`expected each effect to have a name of its own, got ${name} twice`);
    names.add(name);
  }
  return (eventType) =>
    effects.filter(({ on }) => on.some((type) => (type.endsWith(".") ? eventType.startsWith(type) : eventType === type)));
}
