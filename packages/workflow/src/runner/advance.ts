import type { WorkflowEdge, WorkflowGraph } from "@toolctrl/foundation/workflows";
import type { Step } from "./step.ts";

/** A step that is to be written. */
export interface NewStep {
  readonly nodeId: string;
  readonly iteration: number;
  readonly status: "ready" | "skipped";
}

type Known = Pick<Step, "nodeId" | "iteration" | "branch" | "status">;

/**
 * Which steps follow from one that has just ended: a step is ready when every way to it has arrived or was skipped and at least one has
 * arrived, and skipped when all of them were. A branch that goes back begins another turn of its target.
 *
 * A pure function of the run's rows: who holds the run's lock when the second of two branches ends sees both of them.
 * @param steps the current rows of the run, `ended` among them as it is now
 */
export function advance(graph: WorkflowGraph, steps: readonly Known[], ended: Known): NewStep[] {
  const known = new Map(steps.map((step) => [keyOf(step), step]));
  const found: NewStep[] = [];
  const open: Known[] = [ended];
  for (let from = open.shift(); from !== undefined; from = open.shift()) {
    for (const edge of graph.outgoing(from.nodeId)) follow(edge, from);
  }
  return found;

  function follow(edge: WorkflowEdge, from: Known): void {
    if (edge.to === null) return;
    if (edge.loop === true) {
      if (arrives(edge, from)) add({ nodeId: edge.to, iteration: nextTurn(), status: "ready" });
      return;
    }
    const ways = graph.incoming(edge.to).map((way) => ({ way, step: known.get(keyOf({ nodeId: way.from, iteration: from.iteration })) }));
    if (ways.some(({ step }) => step === undefined || !hasEnded(step))) return;
    const arrived = ways.some(({ way, step }) => step !== undefined && arrives(way, step));
    add({ nodeId: edge.to, iteration: from.iteration, status: arrived ? "ready" : "skipped" });
  }

  function add(step: NewStep): void {
    if (known.has(keyOf(step))) return;
    const row = { ...step, branch: null };
    known.set(keyOf(step), row);
    found.push(step);
    // What is skipped has ways of its own.
    if (step.status === "skipped") open.push(row);
  }

  // One counter for the whole run: two loops that turn beside each other never meet in the same turn.
  function nextTurn(): number {
    return Math.max(...[...known.values()].map(({ iteration }) => iteration)) + 1;
  }
}

function hasEnded({ status }: Known): boolean {
  return status === "done" || status === "skipped";
}

function arrives(edge: WorkflowEdge, from: Known): boolean {
  return from.status === "done" && from.branch === edge.branch;
}

function keyOf({ nodeId, iteration }: Pick<Known, "nodeId" | "iteration">): string {
  return `${iteration} ${nodeId}`;
}
