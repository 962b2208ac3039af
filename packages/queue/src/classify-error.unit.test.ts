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
    ["Connection is closed.", "lost", "QUEUE.UNREACHABLE"],
    ["Command aborted due to connection close", "lost", "QUEUE.UNREACHABLE"],
    ["Reached the max retries per request limit (which is 0).", "lost", "QUEUE.UNREACHABLE"],
    ["Connection terminated unexpectedly", "lost", "QUEUE.UNREACHABLE"],
    ["Command timed out", "down", "QUEUE.TIMEOUT"],
    ["Query read timeout", "down", "QUEUE.TIMEOUT"],
    ["Do not know how to serialize a BigInt", "entry", "QUEUE.REJECTED"],
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "entry", "QUEUE.REJECTED"],
  ])("takes %j for %s", (message, reach, code) => {
    expect(classifyQueueError(new Error(message))).toMatchObject({ reach, error: { code } });
  });

  it.each([
    ["ECONNREFUSED", "down", "QUEUE.UNREACHABLE"],
    ["ECONNRESET", "lost", "QUEUE.UNREACHABLE"],
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
