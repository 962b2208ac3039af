import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { callbackify } from "node:util";
import { CodedError } from "@toolctrl/foundation/errors";
import { buildConnector } from "undici";
import { findAddresses } from "./find-addresses.ts";
import { isAllowedTarget, type AllowedTargets } from "./public-address.ts";

export interface ConnectorOptions {
  readonly allowed: AllowedTargets;
  readonly signal: AbortSignal;
  /** Told when the connection stands: from then on the peer may have seen the request. */
  readonly onConnected: () => void;
}

/**
 * A connector for one request. It finds the host's addresses itself, drops those that are not allowed, and connects to one of the rest
 * and to nothing else: a second DNS answer is never asked for. Literal addresses, which no `lookup` hook sees, take the same way.
 */
export function createGuardedConnector(options: ConnectorOptions): buildConnector.connector {
  const connect = callbackify(async (target: buildConnector.Options) => {
    const port = Number(target.port) || (target.protocol === "https:" ? 443 : 80);
    const host = unbracket(target.hostname);
    const addresses = await findAllowedAddresses(host, port, options);
    options.signal.throwIfAborted();
    const socket = await connectPinned(addresses, { ...target, hostname: host, port: String(port) }, options.signal);
    // A belt to the braces: what we are connected to is what was checked.
    if (!isAllowedTarget(socket.remoteAddress ?? "", port, options.allowed)) {
      socket.destroy();
      throw blocked(host, [socket.remoteAddress ?? "unknown"]);
    }
    options.onConnected();
    return socket;
  });
  return (target, callback) => connect(target, (error, socket) => (error === null ? callback(null, socket) : callback(error, null)));
}

function connectPinned(addresses: readonly LookupAddress[], target: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
  // The request's own deadline ends a connection attempt; undici's timer would be a second one.
  const connect = buildConnector({
    allowH2: false,
    timeout: 0,
    keepAlive: false,
    autoSelectFamily: true,
    lookup: pinnedLookup(addresses),
    signal,
  });
  return new Promise((resolve, reject) => {
    connect(target, (...[error, socket]) => (error === null ? resolve(socket) : reject(error)));
  });
}

/** The addresses of a host or literal that may be reached. @throws CodedError `HTTP.BLOCKED_ADDRESS` when there are none. */
async function findAllowedAddresses(host: string, port: number, { allowed, signal }: ConnectorOptions): Promise<LookupAddress[]> {
  const family = isIP(host);
  const found = family === 0 ? await findAddresses(host, signal) : [{ address: host, family }];
  const usable = found.filter(({ address }) => isAllowedTarget(address, port, allowed));
  if (usable.length === 0)
    throw blocked(
      host,
      found.map(({ address }) => address),
    );
  return usable;
}

function pinnedLookup(addresses: readonly LookupAddress[]): LookupFunction {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}

function blocked(host: string, addresses: string[]): CodedError {
  return new CodedError("HTTP.BLOCKED_ADDRESS", `expected ${host} to have a public address, got ${addresses.join(", ") || "none"}`, {
    facts: { host, addresses },
  });
}

function unbracket(hostname: string): string {
  return hostname.startsWith("[") && hostname.endsWith("]") ? hostname.slice(1, -1) : hostname;
}
