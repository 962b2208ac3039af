/** One server of a Redis. */
export interface RedisNode {
  readonly host: string;
  readonly port: number;
}

/** The cluster that a URL names; its nodes tell of the others. */
export interface RedisClusterAddress {
  readonly kind: "cluster";
  /** The nodes that are asked first. */
  readonly nodes: readonly RedisNode[];
  readonly tls: boolean;
  readonly username?: string;
  readonly password?: string;
}

/**
 * Where Redis is. A problem names what is wrong and holds nothing of the URL's password; `keyPrefix` says that the URL asks for a key
 * prefix, which no script of BullMQ's would follow.
 */
export type RedisAddress =
  | { readonly kind: "server"; readonly url: string }
  | RedisClusterAddress
  | { readonly kind: "wrong"; readonly problem: string; readonly keyPrefix: boolean };

const SCHEMES = /^redis(s?)(\+cluster)?:$/;
const DEFAULT_PORT = 6379;

/**
 * Reads `redis://host:port`, `rediss://…` for TLS, and `redis+cluster://host:port?node=host:port&node=host:port` for a Redis Cluster. That a cluster is
 * one is said, not found out: a client for one server works on a cluster's node for as long as each of its keys lies there.
 */
export function readRedisUrl(url: string): RedisAddress {
  const parsed = URL.parse(url);
  const scheme = parsed === null ? null : SCHEMES.exec(parsed.protocol);
  if (parsed === null || scheme === null || parsed.hostname === "")
    return wrong("expected redis://host:port, rediss://… or redis+cluster://…, got another text");
  if (parsed.searchParams.has("keyPrefix")) return { ...wrong("expected a URL without keyPrefix, got one with it"), keyPrefix: true };
  return scheme[2] === undefined ? { kind: "server", url } : readCluster(parsed, scheme[1] === "s");
}

function readCluster(url: URL, tls: boolean): RedisAddress {
  if (!/^\/?0?$/.test(url.pathname))
    return wrong("expected a cluster's URL without a database, as a cluster has one only, got one with it");
  const options = [...url.searchParams.keys()].filter((name) => name !== "node");
  if (options.length > 0) return wrong(`expected no options but node in a cluster's URL, got ${options.join(", ")}`);
  const others = url.searchParams.getAll("node").map(readNode);
  if (others.includes(null)) return wrong("expected each node of a cluster's URL to be host:port, got another text");
  const nodes = [nodeOf(url), ...others.filter((node) => node !== null)];
  const username = decode(url.username);
  const password = decode(url.password);
  if (username === null || password === null)
    return wrong("expected the user and password of a cluster's URL percent-encoded, got another text");
  return { kind: "cluster", nodes, tls, ...(username === "" ? {} : { username }), ...(password === "" ? {} : { password }) };
}

function readNode(text: string): RedisNode | null {
  const parsed = /^[\w.-]+:\d+$|^\[[0-9A-Fa-f:.]+\]:\d+$/.test(text) ? URL.parse(`redis://${text}`) : null;
  return parsed === null ? null : nodeOf(parsed);
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** An address of IP version 6 is written in brackets, and used without. */
function nodeOf({ hostname, port }: URL): RedisNode {
  return { host: hostname.replace(/^\[(.*)\]$/, "$1"), port: port === "" ? DEFAULT_PORT : Number(port) };
}

function wrong(problem: string): { kind: "wrong"; problem: string; keyPrefix: boolean } {
  return { kind: "wrong", problem, keyPrefix: false };
}
