import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isAllowedTarget, isPublicAddress, parseAllowedTargets } from "../src/public-address.ts";

/** First and last address of each IPv4 block that is not part of the public internet. */
const SPECIAL_IPV4: Array<[first: string, last: string]> = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "239.255.255.255"],
  ["240.0.0.0", "255.255.255.255"],
];

const toNumber = (address: string): number => address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
const toAddress = (value: number): string => [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
const toHex = (value: number): string => `${Math.floor(value / 65_536).toString(16)}:${(value % 65_536).toString(16)}`;

const specialIpv4 = fc.constantFrom(...SPECIAL_IPV4).chain(([first, last]) => fc.integer({ min: toNumber(first), max: toNumber(last) }));

describe("isPublicAddress", () => {
  test("refuses every address of every special IPv4 block, however IPv6 writes it", () => {
    fc.assert(
      fc.property(specialIpv4, (value) => {
        const hex = toHex(value);
        const forms = [
          toAddress(value),
          `::ffff:${toAddress(value)}`,
          `::ffff:${hex}`,
          `::${hex}`,
          `::ffff:0:${hex}`,
          `64:ff9b::${hex}`,
          `64:ff9b:1::${hex}`,
          `2002:${hex}::`,
          `2001:0:${hex}::`,
        ];
        return forms.every((form) => !isPublicAddress(form));
      }),
      { numRuns: 500 },
    );
  });

  test("lets the first address before and after each private block through", () => {
    for (const address of [
      "9.255.255.255",
      "11.0.0.0",
      "100.63.255.255",
      "100.128.0.0",
      "126.255.255.255",
      "128.0.0.0",
      "172.15.255.255",
      "172.32.0.0",
      "192.167.255.255",
      "192.169.0.0",
      "223.255.255.255",
    ]) {
      expect(isPublicAddress(address), address).toBe(true);
    }
  });

  test.each([
    "::",
    "::1",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "fc00::1",
    "fd12::1",
    "ff02::1",
    "100::1",
    "2001:db8::1",
    "2001:2::1",
    "2001:20::1",
    "3fff::1",
    "5f00::1",
    "::ffff:8.8.8.8.8",
    "localhost",
    "",
    "1",
    "0x7f.1",
  ])("refuses %j", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::1", "::ffff:8.8.8.8"])("lets %s through", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe("parseAllowedTargets", () => {
  test("an exception holds for its address and port alone, in every spelling of the address", () => {
    const allowed = parseAllowedTargets(["127.0.0.1:8080", "[::1]:9090"]);
    expect([
      isAllowedTarget("127.0.0.1", 8080, allowed),
      isAllowedTarget("::ffff:127.0.0.1", 8080, allowed),
      isAllowedTarget("0:0:0:0:0:0:0:1", 9090, allowed),
    ]).toEqual([true, true, true]);
    expect([
      isAllowedTarget("127.0.0.1", 8081, allowed),
      isAllowedTarget("127.0.0.2", 8080, allowed),
      isAllowedTarget("::1", 8080, allowed),
      isAllowedTarget("", 8080, allowed),
    ]).toEqual([false, false, false, false]);
  });

  test.each([
    "localhost:8080",
    "127.0.0.1",
    "127.0.0.1:0",
    "127.0.0.1:70000",
    "127.0.0.1:*",
    "127.0.0.0/8:80",
    "*",
    "",
    "::1:80",
    "999.0.0.1:80",
    "127.0.0.1:80 ",
  ])("refuses %j as an exception", (entry) => {
    expect(() => parseAllowedTargets(["127.0.0.1:80", entry])).toThrow(expect.objectContaining({ code: "ENV.INVALID" }));
  });
});
