import { onTestFinished } from "vitest";
import { createGuardedHttp, type GuardedHttp } from "../src/guarded-http.ts";

export const LIMITS = { method: "GET", deadlineMs: 10_000, maxResponseBytes: 64 * 1024 } as const;

/** A client that may reach these ports of 127.0.0.1; it is closed when the test ends. */
export function client(...ports: number[]): GuardedHttp {
  const http = createGuardedHttp({ allow: ports.map((port) => `127.0.0.1:${port}`) });
  onTestFinished(() => http.close());
  return http;
}
