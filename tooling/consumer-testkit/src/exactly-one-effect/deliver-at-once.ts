import { waitFor } from "@toolctrl/testkit/wait";
import { openDrainer } from "../drain.ts";
import { receiptsOf, type Installation } from "../installation.ts";
import { letLocksRunOut } from "../locks.ts";
import type { AfterSaveSubject, AnySubject, Subject } from "../subject.ts";
import type { Ground } from "./ground.ts";
import { holdTable, type HeldTable } from "./hold-table.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { runnerOf, type Runner } from "./runner.ts";

/** A claim is waited for in real time: that this uses no attempt is what is tested. */
export const CLAIM_TTL_MS = 3000;

/** Delivers an event while it is being handled. */
export async function deliverAtOnce(ground: Ground, subject: AnySubject): Promise<Outcome> {
  const installation = await ground.openAlone({ claimTtlMs: CLAIM_TTL_MS });
  const runner = runnerOf(subject);
  await runner.prepare(installation);
  const eventId = await subject.publish(installation);
  const held = await holdTable(installation, subject.table);
  try {
    return await ("queue" in subject
      ? runner.whileRunning(installation, () => secondIsToldToWait({ installation, subject, eventId, held, runner }))
      : firstIsTakenForDead({ installation, subject, eventId, held }));
  } finally {
    await held.release();
  }
}

interface Stage<S extends AnySubject> {
  readonly installation: Installation;
  readonly subject: S;
  readonly eventId: string;
  readonly held: HeldTable;
}

/** Of a queue: a second job of the event. It is told to wait, and comes again when the first has ended. */
async function secondIsToldToWait(stage: Stage<Subject> & { readonly runner: Runner }): Promise<Outcome> {
  const { installation, subject, eventId, held, runner } = stage;
  const first = await runner.deliver(installation, eventId, 0);
  await held.untilWaiting(1);
  const second = await runner.deliver(installation, eventId, 1);
  await waitFor(async () => (await installation.backend.find(subject.queue, second))?.state === "delayed", {
    what: "the second delivery to be told to wait",
    timeoutMs: 20_000,
  });
  const early = (await receiptsOf(installation, eventId)).filter((receipt) => receipt.startsWith(`${subject.name} `));
  if (early.length > 0) throw new Error(`expected no receipt while the handler stands still, got ${early.join(", ")}`);
  await held.release();
  await runner.untilEnded(installation, [first, second]);
  return outcomeOf(installation, subject, eventId, [first, second]);
}

/** Of a drainer: the lease of a first attempt runs out while it stands still, so a second one is made. Of both only one may be kept. */
async function firstIsTakenForDead({ installation, subject, eventId, held }: Stage<AfterSaveSubject>): Promise<Outcome> {
  const drainers = [openDrainer(installation, subject.afterSaveEffects), openDrainer(installation, subject.afterSaveEffects)] as const;
  const first = drainers[0].runOnce();
  await held.untilWaiting(1);
  await letLocksRunOut(installation);
  const second = drainers[1].runOnce();
  await held.untilWaiting(2);
  await held.release();
  const fates = (await Promise.all([first, second])).map((settled) => settled?.fate);
  if (!fates.includes("kept") || !fates.includes("lost"))
    throw new Error(`expected one attempt to be kept and the other lost, got ${fates.join()}`);
  await Promise.all(drainers.map((drainer) => drainer.close(10_000)));
  return outcomeOf(installation, subject, eventId, [eventId]);
}
