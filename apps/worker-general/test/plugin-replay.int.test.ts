import { expect, test } from "vitest";
import { openPlugins } from "./plugin-support.ts";

test("plugin-invoke replayed calls those that were called before, under keys of their own, and nobody who subscribed since", async () => {
  const rig = await openPlugins();
  const keys: string[] = [];
  const a = await rig.subscribe("a");
  const b = await rig.subscribe("b");
  const record = async (_hook: unknown, { idempotencyKey }: { idempotencyKey: string }) => void keys.push(idempotencyKey);
  rig.start({ a: record, b: record, late: record });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.subscribe("late");
  await rig.requeue(id, "plugin-invoke");
  await rig.untilReceipt(id, "plugin-invoke", "done 1");
  await rig.untilIdle();
  expect(keys.toSorted()).toEqual([`${id}-${a}`, `${id}-${a}-1`, `${id}-${b}`, `${id}-${b}-1`]);
  // A requeue is no repeat: of that epoch everything is done.
  await rig.requeue(id);
  await rig.untilIdle();
  expect(keys).toHaveLength(4);
  expect(await rig.verdict(id)).toBe("finished");
});

test("plugin-fanout replayed calls those who subscribed since, and nobody again; until they have ended, the event is not finished", async () => {
  const rig = await openPlugins();
  const called: string[] = [];
  await rig.subscribe("a");
  const gate = Promise.withResolvers<void>();
  rig.start({
    a: async () => void called.push("a"),
    late: async () => {
      called.push("late");
      await gate.promise;
    },
  });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  const late = await rig.subscribe("late");
  await rig.requeue(id, "plugin-fanout");
  await rig.untilReceipt(id, "plugin-fanout", "done 1");
  expect(await rig.receipts(id)).not.toHaveProperty("plugin-invoke");
  gate.resolve();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(called).toEqual(["a", "late"]);
  expect((await rig.receipts(id))[`plugin-invoke/${late}`]).toBe("done 0");
  expect(await rig.verdict(id)).toBe("finished");
});

test("a replay of plugin-invoke for an event that nobody subscribed to is done at once", async () => {
  const rig = await openPlugins();
  rig.start();
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.requeue(id, "plugin-invoke");
  await rig.untilReceipt(id, "plugin-invoke", "done 1");
  expect(await rig.verdict(id)).toBe("finished");
});

test("one plugin that fails in a repeat is dead there alone; requeued, it is called again in the same repeat", async () => {
  const rig = await openPlugins();
  const keys: string[] = [];
  let broken = false;
  await rig.subscribe("a");
  const b = await rig.subscribe("b");
  rig.start(
    {
      a: async () => void keys.push("a"),
      b: async (_hook, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (broken) throw new Error("not today");
      },
    },
    { env: { PLUGIN_MAX_ATTEMPTS: "1" } },
  );
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke");
  broken = true;
  await rig.requeue(id, "plugin-invoke");
  await rig.untilReceipt(id, "plugin-invoke", "dead 1");
  broken = false;
  await rig.requeue(id);
  await rig.untilReceipt(id, "plugin-invoke", "done 1");
  await rig.untilIdle();
  expect(keys.toSorted()).toEqual([`${id}-${b}`, `${id}-${b}-1`, `${id}-${b}-1`, "a", "a"]);
});
