import { CodedError } from "@toolctrl/foundation/errors";
import ipaddr from "ipaddr.js";

/** An address and port that may be reached although the address is not public. */
export type AllowedTargets = ReadonlySet<string>;

const GLOBAL_IPV6 = ipaddr.parseCIDR("2000::/3");

/**
 * Says whether an address belongs to the public internet. IPv4-mapped IPv6 is judged as the IPv4 address it stands for. Everything
 * special is refused: private, loopback, link-local, carrier NAT, documentation, and IPv6 forms that carry an IPv4 address (NAT64, 6to4, Teredo).
 */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== "unicast") return false;
  // "unicast" is also what has no range of its own, such as the old IPv4-compatible form ::7f00:1.
  return parsed.kind() === "ipv4" || parsed.match(GLOBAL_IPV6);
}

/** Says whether a connection may go to this address: it is public, or exactly this address and port were allowed. */
export function isAllowedTarget(address: string, port: number, allowed: AllowedTargets): boolean {
  return isPublicAddress(address) || (ipaddr.isValid(address) && allowed.has(targetKey(address, port)));
}

/**
 * Reads exceptions of the form `127.0.0.1:8080` or `[::1]:8080`. No names, no ranges, no wildcard ports.
 * @throws CodedError `ENV.INVALID` naming each entry that is not of that form.
 */
export function parseAllowedTargets(entries: readonly string[]): AllowedTargets {
  const problems: string[] = [];
  const keys = entries.flatMap((entry) => {
    const match = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<v4>\d{1,3}(?:\.\d{1,3}){3})):(?<port>[1-9]\d{0,4})$/.exec(entry);
    const address = match?.groups?.["v6"] ?? match?.groups?.["v4"] ?? "";
    const port = Number(match?.groups?.["port"]);
    if (match !== null && port <= 65_535 && ipaddr.isValid(address)) return [targetKey(address, port)];
    problems.push(`expected an allowed HTTP target to be address:port, got ${JSON.stringify(entry)}`);
    return [];
  });
  if (problems.length > 0) throw new CodedError("ENV.INVALID", problems.join("; "), { facts: { problems } });
  return new Set(keys);
}

function targetKey(address: string, port: number): string {
  return `${ipaddr.process(address).toNormalizedString()} ${port}`;
}
