import type { RedisClient } from "@toolctrl/redis/client";
import type { Redis } from "ioredis";

/** The one server, or every master of a cluster: each of them could keep the queue tomorrow. */
export function everyMaster(client: RedisClient): readonly Redis[] {
  return "nodes" in client ? client.nodes("master") : [client];
}

type Known = { readonly kind: "known" };
type Unknown = { readonly kind: "unknown"; readonly why: string };

/** What counts of the answers of all masters: the first that is bad, else one that nobody could give, else the first. */
export function worstOf<Good extends Known>(answers: readonly (Good | Unknown)[], isBad: (answer: Good) => boolean): Good | Unknown {
  const known = answers.filter((answer): answer is Good => answer.kind === "known");
  const unknown = answers.find((answer): answer is Unknown => answer.kind === "unknown");
  return known.find(isBad) ?? unknown ?? known[0] ?? { kind: "unknown", why: "no node of the cluster is known" };
}
