import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { groupCalls, type GroupOptions } from "../src/group-calls.ts";
import { gate, rejection } from "./support.ts";

const options = (overrides: Partial<GroupOptions<string, string>>): GroupOptions<string, string> => ({
  askMany: (requests) => Promise.resolve(requests.map((request) => `many ${request}`)),
  askOne: (request) => Promise.resolve(`one ${request}`),
  isAboutOne: () => true,
  bytesOf: (request) => request.length,
  maxRequests: 10,
  maxBytes: 100,
  maxGroups: 1,
  ...overrides,
});

describe("calls that come at the same time", () => {
  test("go out as one and are answered in their order; a lone call goes out alone", async () => {
    const call = groupCalls(options({}));
    expect(await Promise.all([call("a"), call("b"), call("c")])).toEqual(["many a", "many b", "many c"]);
    expect(await call("d")).toBe("one d");
  });

  test("wait for the group under way, and then go out together", async () => {
    const groups: string[][] = [];
    const first = gate();
    const askMany = async (requests: readonly string[]): Promise<string[]> => {
      groups.push([...requests]);
      if (groups.length === 1) await first.opened;
      return [...requests];
    };
    const call = groupCalls(options({ askMany }));
    const early = [call("a"), call("b")];
    await turn();
    const late = [call("c")];
    await turn();
    late.push(call("d"));
    await turn();
    expect(groups).toEqual([["a", "b"]]);
    first.open();
    await Promise.all([...early, ...late]);
    expect(groups).toEqual([
      ["a", "b"],
      ["c", "d"],
    ]);
  });

  test("are cut into groups by number and by size, and none is left out", async () => {
    const groups: number[] = [];
    const askMany = (requests: readonly string[]): Promise<string[]> => {
      groups.push(requests.length);
      return Promise.resolve([...requests]);
    };
    const call = groupCalls(options({ askMany, askOne: (request) => askMany([request]).then(() => request), maxBytes: 25 }));
    const requests = [
      ...Array.from({ length: 23 }, (_, index) => String.fromCodePoint(97 + index)),
      "x".repeat(20),
      "y".repeat(20),
      "z".repeat(60),
    ];
    expect(await Promise.all(requests.map((request) => call(request)))).toEqual(requests);
    expect(groups).toEqual([10, 10, 4, 1, 1]);
  });
});

describe("a group that fails", () => {
  const askMany = (): Promise<string[]> => Promise.reject(new Error("bad group"));

  test("is asked one by one, so that the bad one fails alone", async () => {
    const askOne = (request: string): Promise<string> =>
      request === "bad" ? Promise.reject(new Error("bad one")) : Promise.resolve(`one ${request}`);
    const call = groupCalls(options({ askMany, askOne }));
    const bad = rejection(call("bad"));
    expect(await Promise.all([call("a"), call("b")])).toEqual(["one a", "one b"]);
    expect((await bad).message).toBe("bad one");
  });

  test("fails as a whole when no single call can be the cause", async () => {
    let asked = 0;
    const askOne = (): Promise<string> => Promise.resolve(String((asked += 1)));
    const call = groupCalls(options({ askMany, askOne, isAboutOne: () => false }));
    expect((await Promise.all([rejection(call("a")), rejection(call("b"))])).map((error) => error.message)).toEqual([
      "bad group",
      "bad group",
    ]);
    expect(asked).toBe(0);
  });

  test("holds up no other group while its calls are asked one by one", async () => {
    const slow = gate();
    const askOne = async (request: string): Promise<string> => {
      if (request.startsWith("slow")) await slow.opened;
      return `one ${request}`;
    };
    const call = groupCalls(options({ askMany, askOne }));
    const held = [call("slow 1"), call("slow 2")];
    await turn();
    expect(await call("next")).toBe("one next");
    slow.open();
    expect(await Promise.all(held)).toEqual(["one slow 1", "one slow 2"]);
  });
});
