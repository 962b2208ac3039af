import type { EffectCounts } from "./effect-kinds.ts";
import type { PrismaTx, SampleScope } from "./intents.ts";

/** Something the sample product does for its customers, and the effects it has. */
export interface SampleCase {
  readonly name: string;
  /** The effects under the case's key, by the consumer that has them. */
  readonly effects: EffectCounts;
  /** Writes the rows of the case and publishes its events in one transaction; the effects carry the key. @returns how many events */
  write(tx: PrismaTx, scope: SampleScope, key: string): Promise<number>;
  /** What the product does with it afterwards, in transactions of its own. @returns how many events that published */
  follow?(scope: SampleScope, key: string): Promise<number>;
}
