import type { LookupAddress } from "node:dns";
import { Resolver } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

/**
 * The addresses of a host's name: those of the hosts file, else those that DNS has.
 *
 * Not by `dns.lookup`: that has getaddrinfo wait on a thread of libuv's pool, and cannot be called off. Of the pool's four threads it may have two, so
 * that two names whose servers are silent held up every other name of the process for as long as the system's own time-outs. Here a name
 * waits on sockets, and no longer than its request. What getaddrinfo knows besides is left out: a name is asked for as it is written, without search domains.
 * @throws the resolver's error: `ENOTFOUND`, `ETIMEOUT` …, and `ECANCELLED` once the signal is aborted
 */
export async function findAddresses(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  const listed = await readHostsFile(host);
  return listed.length > 0 ? listed : askDns(host, signal);
}

async function readHostsFile(host: string): Promise<LookupAddress[]> {
  const name = host.toLowerCase().replace(/\.$/, "");
  const text = await readFile("/etc/hosts", "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().toLowerCase().split(/\s+/);
    const family = isIP(address);
    return family !== 0 && names.includes(name) ? [{ address, family }] : [];
  });
}

async function askDns(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
  signal.throwIfAborted();
  // There are servers that never answer one of the two questions: after six seconds the other one's answer is enough.
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    if (v4.status === "rejected" && v6.status === "rejected") throw v4.reason;
    return [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

function addressesOf(answer: PromiseSettledResult<string[]>, family: 4 | 6): LookupAddress[] {
  return answer.status === "fulfilled" ? answer.value.map((address) => ({ address, family })) : [];
}
