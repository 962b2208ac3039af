import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { startTcpProxy, type TcpProxy } from "../src/tcp-proxy.ts";
import { waitFor } from "../src/wait.ts";

/** A server that sends everything back, a proxy before it, and what the server has received. */
async function proxied(): Promise<{ proxy: TcpProxy; received(): string }> {
  let received = "";
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk: Buffer) => {
      received += chunk.toString();
      socket.write(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const proxy = await startTcpProxy({ toPort: (server.address() as AddressInfo).port });
  onTestFinished(async () => {
    await proxy.close();
    server.close();
  });
  return { proxy, received: () => received };
}

async function dial(proxy: TcpProxy): Promise<{ socket: Socket; got(): string; ended: Promise<unknown> }> {
  const socket = connect(proxy.port, "127.0.0.1");
  let got = "";
  socket.on("data", (chunk: Buffer) => void (got += chunk.toString()));
  const ended = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, "connect");
  socket.on("error", () => undefined);
  return { socket, got: () => got, ended };
}

test("bytes go through in both directions", async () => {
  const { proxy } = await proxied();
  const { socket, got, ended } = await dial(proxy);
  const sent = "x".repeat(3_000_000);
  socket.end(sent);
  await ended;
  expect(got() === sent).toBe(true);
});

test("a cut ends the connections of the moment and later ones are served", async () => {
  const { proxy } = await proxied();
  const first = await dial(proxy);
  await waitFor(() => proxy.connections === 1);
  proxy.cut();
  await first.ended;
  const second = await dial(proxy);
  second.socket.write("again");
  expect(await waitFor(second.got)).toBe("again");
  second.socket.destroy();
});

test("while paused nothing goes through, also on new connections, and nothing is lost after it", async () => {
  const { proxy, received } = await proxied();
  const before = await dial(proxy);
  before.socket.write("1");
  await waitFor(() => before.got() === "1");
  proxy.pause();
  const during = await dial(proxy);
  await Promise.all([before, during].map(({ socket }) => new Promise((resolve) => socket.write("2", resolve))));
  await waitFor(() => proxy.connections === 2);
  expect(received()).toBe("1");
  await proxy.resume();
  await waitFor(() => before.got() === "12" && during.got() === "2");
  before.socket.destroy();
  during.socket.destroy();
});

test("stranded connections carry nothing, new ones are served, and nothing is lost after it", async () => {
  const { proxy, received } = await proxied();
  const before = await dial(proxy);
  before.socket.write("1");
  await waitFor(() => before.got() === "1");
  proxy.strand();
  await new Promise((resolve) => before.socket.write("2", resolve));
  const after = await dial(proxy);
  after.socket.write("3");
  await waitFor(() => after.got() === "3");
  expect(received()).toBe("13");
  await proxy.resume();
  await waitFor(() => before.got() === "12");
  before.socket.destroy();
  after.socket.destroy();
});

test("while refusing, connections are reset and refused; afterwards they are served on the same port", async () => {
  const { proxy } = await proxied();
  const { port } = proxy;
  const first = await dial(proxy);
  await proxy.refuse();
  await first.ended;
  await expect(dial(proxy)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await proxy.resume();
  expect(proxy.port).toBe(port);
  const second = await dial(proxy);
  second.socket.write("back");
  await waitFor(() => second.got() === "back");
  second.socket.destroy();
});
