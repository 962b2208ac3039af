import { CodedError } from "@toolctrl/foundation/errors";
import { describe, expect, it } from "vitest";
import { classifyQueueError } from "./classify-error.ts";

const withCode = (code: string, message = "failed"): Error => Object.assign(new Error(message), { code });

describe("classifying a failed request", () => {
  it.each([
    ["READONLY You can't write against a read only replica.", "down", "QUEUE.UNREACHABLE"],
    ["ERR Error running script (call to f_1): @user_script:1: -READONLY You can't write", "down", "QUEUE.UNREACHABLE"],
    ["LOADING Redis is loading the dataset in memory", "down", "QUEUE.UNREACHABLE"],
    ["OOM command not allowed when used memory > 'maxmemory'.", "down", "QUEUE.UNREACHABLE"],
    ["Stream isn't writeable and enableOfflineQueue options is false", "down", "QUEUE.UNREACHABLE"],
    ["timeout exceeded when trying to connect", "down", "QUEUE.UNREACHABLE"],
    ["CLUSTERDOWN The cluster is down", "down", "QUEUE.UNREACHABLE"],
    ["Cluster isn't ready and enableOfflineQueue options is false", "down", "QUEUE.UNREACHABLE"],
    ["Too many Cluster redirections. Last error: ReplyError: MOVED 1 h:1", "down", "QUEUE.UNREACHABLE"],
    ["Failed to refresh slots cache.", "down", "QUEUE.UNREACHABLE"],
    ["MOVED 866 10.0.0.5:6379", "down", "QUEUE.UNREACHABLE"],
    ["ASK 866 10.0.0.5:6379", "down", "QUEUE.UNREACHABLE"],
    ["CROSSSLOT Keys in request don't hash to the same slot", "down", "QUEUE.UNREACHABLE"],
    ["TRYAGAIN Multiple keys request during rehashing of slot", "down", "QUEUE.UNREACHABLE"],
    ["MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "down", "QUEUE.UNREACHABLE"],
    ["NOREPLICAS Not enough good replicas to write.", "down", "QUEUE.UNREACHABLE"],
    ["MISCONF Redis is configured to save RDB snapshots", "down", "QUEUE.UNREACHABLE"],
    ["NOAUTH Authentication required.", "down", "QUEUE.UNREACHABLE"],
    ["WRONGPASS invalid username-password pair or user is disabled.", "down", "QUEUE.UNREACHABLE"],
    ["NOPERM User default has no permissions to run the 'evalsha' command", "down", "QUEUE.UNREACHABLE"],
    ["DENIED Redis is running in protected mode", "down", "QUEUE.UNREACHABLE"],
    ["EXECABORT Transaction discarded because of previous errors.", "down", "QUEUE.UNREACHABLE"],
    ["ERR max number of clients reached", "down", "QUEUE.UNREACHABLE"],
    ["ERR max daily request limit exceeded. Limit: 10000, Usage: 10000.", "down", "QUEUE.UNREACHABLE"],
    ["Connection is closed.", "lost", "QUEUE.UNREACHABLE"],
    ["Command aborted due to connection close", "lost", "QUEUE.UNREACHABLE"],
    ["Reached the max retries per request limit (which is 0).", "lost", "QUEUE.UNREACHABLE"],
    ["Connection terminated unexpectedly", "lost", "QUEUE.UNREACHABLE"],
    ["Command timed out", "down", "QUEUE.TIMEOUT"],
    ["Query read timeout", "down", "QUEUE.TIMEOUT"],
    ["Do not know how to serialize a BigInt", "entry", "QUEUE.REJECTED"],
    ["Converting circular structure to JSON: property 'ASK' closes the circle", "entry", "QUEUE.REJECTED"],
    ["ERR value is not an integer or out of range", "entry", "QUEUE.REJECTED"],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "entry", "QUEUE.REJECTED"],
  ])("takes %j for %s", (message, reach, code) => {
    expect(classifyQueueError(new Error(message))).toMatchObject({ reach, error: { code } });
  });

  it.each([
    ["ECONNREFUSED", "down", "QUEUE.UNREACHABLE"],
    ["ECONNRESET", "lost", "QUEUE.UNREACHABLE"],
    ["ECONNABORTED", "lost", "QUEUE.UNREACHABLE"],
    ["ENETDOWN", "down", "QUEUE.UNREACHABLE"],
    ["CERT_HAS_EXPIRED", "down", "QUEUE.UNREACHABLE"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "down", "QUEUE.UNREACHABLE"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "down", "QUEUE.UNREACHABLE"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "down", "QUEUE.UNREACHABLE"],
    ["28P01", "down", "QUEUE.UNREACHABLE"],
    ["3D000", "down", "QUEUE.UNREACHABLE"],
    ["57P01", "down", "QUEUE.UNREACHABLE"],
    ["53300", "down", "QUEUE.UNREACHABLE"],
    ["08006", "down", "QUEUE.UNREACHABLE"],
    ["25006", "down", "QUEUE.UNREACHABLE"],
    ["57014", "down", "QUEUE.TIMEOUT"],
    ["22P05", "entry", "QUEUE.REJECTED"],
    ["23505", "entry", "QUEUE.REJECTED"],
    ["40P01", "entry", "QUEUE.UNREACHABLE"],
  ])("takes the code %s for %s", (given, reach, code) => {
    expect(classifyQueueError(withCode(given))).toMatchObject({ reach, error: { code } });
  });

  it("keeps a coded error as it is, and the cause of any other", () => {
    const coded = new CodedError("QUEUE.TIMEOUT", "expected an answer, got none");
    expect(classifyQueueError(coded).error).toBe(coded);
    const cause = withCode("ECONNRESET");
    expect(classifyQueueError(cause).error.cause).toBe(cause);
  });
});
