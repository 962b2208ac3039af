import type pg from "pg";

/** Limits of every connection; all in ms. */
export interface ConnectionLimits {
  /** Longest wait for a free connection or a new one. */
  readonly connectTimeoutMs: number;
  /** Longest wait of one statement for a lock. */
  readonly lockTimeoutMs: number;
  /** A transaction that does nothing for so long is ended by the server: a stopped process must not keep its row locks. */
  readonly idleInTransactionMs: number;
  /**
   * Longest silence of a pool's connection that is in use, above every statement of ours and every limit above: it then counts as lost. A network that has
   * forgotten a connection tells neither end, and whoever waits for the statement on it would wait for ever.
   */
  readonly silenceMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  connectTimeoutMs: 5_000,
  lockTimeoutMs: 10_000,
  idleInTransactionMs: 60_000,
  silenceMs: 120_000,
};

/**
 * The configuration of a connection: UTC, ISO dates, lock and idle limits as start-up options, TCP keepalive on both ends.
 *
 * Options that the URL brings are kept, but ours come last and win: adapter-pg sends times without a zone, so a session in any
 * other zone would store them hours off, and in any other date style no client reads a time back.
 */
export function connectionConfig(
  url: string,
  app: string,
  limits: Omit<ConnectionLimits, "silenceMs"> = CONNECTION_LIMITS,
): pg.ClientConfig {
  const { url: connectionString, options } = takeOptions(url);
  const settings = {
    timezone: "UTC",
    datestyle: "ISO",
    lock_timeout: limits.lockTimeoutMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionMs,
    tcp_keepalives_idle: 30,
    tcp_keepalives_interval: 10,
    tcp_keepalives_count: 3,
  };
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`);
  return {
    connectionString,
    application_name: app,
    connectionTimeoutMillis: limits.connectTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: [options, ...ours].filter((part) => part !== "").join(" "),
  };
}

// pg lets the URL's parameters override the configuration, so `options` has to leave the URL.
function takeOptions(url: string): { url: string; options: string } {
  const start = url.indexOf("?");
  if (start === -1) return { url, options: "" };
  const params = new URLSearchParams(url.slice(start + 1));
  const options = params.get("options") ?? "";
  params.delete("options");
  const rest = params.toString();
  return { url: rest === "" ? url.slice(0, start) : `${url.slice(0, start)}?${rest}`, options };
}
