import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findFreePort } from "../src/free-port.ts";

const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

test.runIf(process.platform === "linux")(
  "a free port is none that the kernel gives to anybody's connection before it is used",
  async () => {
    const [first = 0, last = 0] = readFileSync(RANGE, "utf8").trim().split(/\s+/).map(Number);
    const ports = await Promise.all(Array.from({ length: 50 }, findFreePort));
    expect(ports.filter((port) => port >= first && port <= last)).toEqual([]);
    expect(new Set(ports).size).toBeGreaterThan(40);
  },
);
