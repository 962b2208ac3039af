import { expect, test } from "vitest";
import { readRedisUrl } from "../src/redis-url.ts";

test.each(["redis://h", "rediss://u:p@h:1/3", "redis://h?family=6"])("%s is one server, read by its client", (url) => {
  expect(readRedisUrl(url)).toEqual({ kind: "server", url });
});

test("a cluster's URL names the nodes to ask first, one user for all of them, and whether they speak TLS", () => {
  expect(readRedisUrl("redis+cluster://10.0.0.1")).toEqual({ kind: "cluster", tls: false, nodes: [{ host: "10.0.0.1", port: 6379 }] });
  expect(readRedisUrl("rediss+cluster://ann:p%40ss@a.test:7000/0?node=b.test:7001&node=[::1]:7002")).toEqual({
    kind: "cluster",
    tls: true,
    username: "ann",
    password: "p@ss",
    nodes: [
      { host: "a.test", port: 7000 },
      { host: "b.test", port: 7001 },
      { host: "::1", port: 7002 },
    ],
  });
});

test.each([
  ["http://h", "expected redis://host:port"],
  ["a text", "expected redis://host:port"],
  ["redis+sentinel://h", "expected redis://host:port"],
  ["redis+cluster://u:hunter2@h/1", "without a database"],
  ["redis+cluster://u:hunter2@h?family=6&node=b:1", "no options but node in a cluster's URL, got family"],
  ["redis+cluster://h?node=b", "each node of a cluster's URL to be host:port"],
  ["redis+cluster://h?node=u:hunter2@b:1", "each node of a cluster's URL to be host:port"],
  ["redis+cluster://u:hunter2%@h", "percent-encoded"],
  ["redis+cluster://h?node=b:70000", "each node of a cluster's URL to be host:port"],
])("%s is refused, and no password is told", (url, problem) => {
  const address = readRedisUrl(url);
  expect(address).toEqual({ kind: "wrong", problem: expect.stringContaining(problem), keyPrefix: false });
  expect(JSON.stringify(address)).not.toContain("hunter2");
});

test.each(["redis://h?keyPrefix=a", "redis+cluster://h?node=b:1&keyPrefix=a"])(
  "%s is refused: no script would follow the prefix",
  (url) => {
    expect(readRedisUrl(url)).toMatchObject({ kind: "wrong", keyPrefix: true });
  },
);
