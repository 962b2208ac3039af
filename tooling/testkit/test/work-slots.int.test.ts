import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startWorkSlots } from "../src/work-slots.ts";

test("as many hold a slot as there are; who comes later waits for one, in turn, and gets it when its holder ends, however it ends", async () => {
  const slots = await startWorkSlots(2);
  onTestFinished(() => slots.close());
  const told: string[] = [];
  const ask = async (name: string): Promise<Socket> => {
    const socket = connect(slots.port, "127.0.0.1");
    socket.on("data", () => told.push(name)).on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };
  const untilTold = async (socket: Socket): Promise<void> => void (await once(socket, "data"));
  const first = await ask("first");
  await untilTold(first);
  const second = await ask("second");
  await untilTold(second);
  const [third, gaveUp, fourth] = [await ask("third"), await ask("gave up"), await ask("fourth")];
  const thirdIn = untilTold(third);
  gaveUp.destroy();
  second.resetAndDestroy();
  await thirdIn;
  expect(told).toEqual(["first", "second", "third"]);
  const fourthIn = untilTold(fourth);
  first.end();
  await fourthIn;
  expect(told).toEqual(["first", "second", "third", "fourth"]);
  for (const socket of [third, fourth]) socket.destroy();
});
