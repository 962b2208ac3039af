import { waitFor } from "@toolctrl/testkit/wait";
import { receiptsOf, type Installation } from "../installation.ts";
import type { Subject } from "../subject.ts";
import type { Ground } from "./ground.ts";
import { holdTable } from "./hold-table.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { untilEnded, withSubject } from "./run-subject.ts";

/** A claim is waited for in real time here: that this uses no attempt is what is tested. */
export const CLAIM_TTL_MS = 3000;

/** Delivers an event, then again as a requeue does; each has ended before the next. */
export function twiceInSequence(installation: Installation, subject: Subject): Promise<Outcome> {
  return inSequence(installation, subject, () => Promise.resolve());
}

/** The same, and once more after the queue has forgotten that it ever had the job. */
export async function thriceInSequence(ground: Ground, subject: Subject): Promise<Outcome> {
  const installation = await ground.open();
  return inSequence(installation, subject, async (eventId) => {
    await installation.backend.obliterate(subject.queue);
    await untilEnded(installation, subject, [await subject.add(installation, eventId, 0)]);
  });
}

async function inSequence(installation: Installation, subject: Subject, andThen: (eventId: string) => Promise<void>): Promise<Outcome> {
  const eventId = await subject.publish(installation);
  return withSubject(installation, subject, async () => {
    const first = await subject.add(installation, eventId, 0);
    await untilEnded(installation, subject, [first]);
    const second = await subject.add(installation, eventId, 1);
    await untilEnded(installation, subject, [second]);
    await andThen(eventId);
    return outcomeOf(installation, subject, eventId, [first, second]);
  });
}

/** Delivers an event while it is being handled: the second delivery is told to wait, and comes again when the first has ended. */
export async function twiceAtOnce(ground: Ground, subject: Subject): Promise<Outcome> {
  const installation = await ground.openAlone({ claimTtlMs: CLAIM_TTL_MS });
  const eventId = await subject.publish(installation);
  const held = await holdTable(installation, subject.table);
  try {
    return await withSubject(installation, subject, async () => {
      const first = await subject.add(installation, eventId, 0);
      await held.untilSomebodyWaits();
      const second = await subject.add(installation, eventId, 1);
      await waitFor(async () => (await installation.backend.find(subject.queue, second))?.state === "delayed", {
        what: "the second delivery to be told to wait",
        timeoutMs: 20_000,
      });
      const early = (await receiptsOf(installation, eventId)).filter((receipt) => receipt.startsWith(`${subject.name} `));
      if (early.length > 0) throw new Error(`expected no receipt while the handler stands still, got ${early.join(", ")}`);
      await held.release();
      await untilEnded(installation, subject, [first, second]);
      return outcomeOf(installation, subject, eventId, [first, second]);
    });
  } finally {
    await held.release();
  }
}
