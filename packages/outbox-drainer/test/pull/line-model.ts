import { CRASH_BUDGET, MAX_RETRIES, type DeadHead, type Ending } from "./line-player.ts";

interface ModelEvent {
  readonly id: string;
  readonly record: string;
  state: "PENDING" | "PROCESSING" | "DONE" | "FAILED" | "CANCELLED";
  holds: boolean;
  retries: number;
  crashes: number;
  token: string | null;
  expired: boolean;
}

/** What the product promises about lines, in memory: the state of each event after any sequence of moves. */
export interface LineModel {
  publish(id: string, record: string): void;
  /** The events that a claim may give now: heads that wait, of lines of which nothing is in flight. Expired claims are given back before. */
  claimable(): string[];
  claimed(id: string, token: string): void;
  settle(id: string, token: string, ending: Ending): boolean;
  loseLease(id: string, token: string): void;
  operate(action: "requeue" | "skip" | "cancel", id: string): boolean;
  /** As the table has to say it, in insert order. */
  rows(): Array<{ id: string; status: string; blocksLine: boolean; retries: number; crashes: number }>;
}

export function createLineModel(deadHead: DeadHead): LineModel {
  const events: ModelEvent[] = [];
  const parks = deadHead === "park";
  const of = (id: string): ModelEvent => {
    const found = events.find((event) => event.id === id);
    if (found === undefined) throw new Error(`expected a published event, got ${id}`);
    return found;
  };

  function end(event: ModelEvent, state: ModelEvent["state"]): void {
    Object.assign(event, { state, holds: state === "PENDING" || (state === "FAILED" && parks), token: null, expired: false });
  }

  function releaseExpired(): void {
    for (const event of events) {
      if (!event.expired) continue;
      event.crashes += 1;
      end(event, event.crashes >= CRASH_BUDGET ? "FAILED" : "PENDING");
    }
  }

  function isClaimable(event: ModelEvent): boolean {
    const line = events.filter(({ record }) => record === event.record);
    return event.state === "PENDING" && line.find(({ holds }) => holds) === event && line.every(({ state }) => state !== "PROCESSING");
  }

  return {
    publish(id, record) {
      events.push({ id, record, state: "PENDING", holds: true, retries: 0, crashes: 0, token: null, expired: false });
    },
    claimable() {
      releaseExpired();
      return events.filter(isClaimable).map(({ id }) => id);
    },
    claimed(id, token) {
      Object.assign(of(id), { state: "PROCESSING", token });
    },
    settle(id, token, ending) {
      const event = of(id);
      if (event.token !== token) return false;
      if (ending === "fails") event.retries += 1;
      const isDead = ending === "fails" && event.retries > MAX_RETRIES;
      end(event, ending === "done" ? "DONE" : isDead ? "FAILED" : "PENDING");
      return true;
    },
    loseLease(id, token) {
      if (of(id).token === token) of(id).expired = true;
    },
    operate(action, id) {
      const event = of(id);
      const allowed = {
        requeue: ["FAILED", "CANCELLED", "DONE"].includes(event.state),
        skip: event.state === "FAILED" && event.holds,
        cancel: event.state === "PENDING" || event.state === "FAILED",
      };
      if (!allowed[action]) return false;
      if (action === "requeue") Object.assign(event, { state: "PENDING", holds: true, retries: 0, crashes: 0 });
      else if (action === "skip") event.holds = false;
      else end(event, "CANCELLED");
      return true;
    },
    rows: () => events.map(({ id, state, holds, retries, crashes }) => ({ id, status: state, blocksLine: holds, retries, crashes })),
  };
}
