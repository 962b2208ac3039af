import { CodedError } from "@toolctrl/foundation/errors";
import { expect, test } from "vitest";
import { openPlugins } from "./plugin-support.ts";

test.each(["function", "http"] as const)(
  "a plugin that fails twice (%s) is called three times, and the others of the event once",
  async (kind) => {
    const rig = await openPlugins();
    const calls: Record<string, number> = { h1: 0, h2: 0, h3: 0 };
    const accepts = (name: string): boolean => (calls[name] = (calls[name] ?? 0) + 1) > (name === "h2" ? 2 : 0);
    for (const name of ["h1", "h2", "h3"]) await (kind === "function" ? rig.subscribe(name) : rig.subscribeUrl(`/${name}`));
    rig.peer.respond(({ path }) => ({ status: accepts(path.slice(1)) ? 204 : 500 }));
    const run = (name: string) => async () => {
      if (!accepts(name)) throw new Error("not yet");
    };
    rig.start({ h1: run("h1"), h2: run("h2"), h3: run("h3") });
    const id = await rig.publish();
    await rig.untilReceipt(id, "plugin-invoke");
    await rig.untilIdle();
    expect(calls).toEqual({ h1: 1, h2: 3, h3: 1 });
    expect((await rig.intents(id)).map(({ state, attempts }) => `${state} ${attempts}`)).toEqual(["sent 1", "sent 3", "sent 1"]);
    expect(Object.values(await rig.receipts(id))).toEqual(Array.from({ length: 5 }, () => "done 0"));
    expect(await rig.verdict(id)).toBe("finished");
  },
);

test("a plugin that fails for good is dead alone; the requeued event calls it once more, and no other", async () => {
  const rig = await openPlugins();
  const calls: string[] = [];
  const h1 = await rig.subscribe("h1");
  const h2 = await rig.subscribe("h2");
  const h3 = await rig.subscribe("h3");
  let broken = true;
  const run = (name: string) => async () => {
    calls.push(name);
    if (broken && name === "h2") throw new CodedError("ROW.NOT_FOUND", "expected the lead to be there");
  };
  rig.start({ h1: run("h1"), h2: run("h2"), h3: run("h3") });
  const id = await rig.publish();
  await rig.untilReceipt(id, "plugin-invoke", "dead 0");
  await rig.untilIdle();
  expect(calls.toSorted()).toEqual(["h1", "h2", "h3"]);
  expect(await rig.receipts(id)).toEqual({
    "plugin-fanout": "done 0",
    [`plugin-invoke/${h1}`]: "done 0",
    [`plugin-invoke/${h2}`]: "dead 0",
    [`plugin-invoke/${h3}`]: "done 0",
    "plugin-invoke": "dead 0",
  });
  expect(await rig.verdict(id)).toBe("dead");
  broken = false;
  await rig.requeue(id);
  await rig.untilReceipt(id, "plugin-invoke");
  await rig.untilIdle();
  expect(calls.toSorted()).toEqual(["h1", "h2", "h2", "h3"]);
  expect(await rig.verdict(id)).toBe("finished");
});
