import type { Installation } from "../installation.ts";
import type { AnySubject } from "../subject.ts";
import { openFor, type Ground } from "./ground.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { runnerOf } from "./runner.ts";

/** Delivers an event, then again as a requeue does, then once more when the first delivery is forgotten; each has ended before the next. */
export async function deliverThrice(ground: Ground, subject: AnySubject): Promise<Outcome> {
  return deliverInSequence(await openFor(ground, runnerOf(subject)), subject, { forgotten: true });
}

/** The deliveries in an installation that is open. */
export async function deliverInSequence(
  installation: Installation,
  subject: AnySubject,
  { forgotten }: { readonly forgotten: boolean },
): Promise<Outcome> {
  const runner = runnerOf(subject);
  await runner.prepare(installation);
  const eventId = await subject.publish(installation);
  return runner.whileRunning(installation, async () => {
    const deliveries: string[] = [];
    for (const generation of [0, 1]) {
      deliveries.push(await runner.deliver(installation, eventId, generation));
      await runner.untilEnded(installation, deliveries);
    }
    if (forgotten) await runner.untilEnded(installation, [await runner.deliverForgotten(installation, eventId)]);
    return outcomeOf(installation, subject, eventId, deliveries);
  });
}
