// Ports for programs that a test starts, stops and starts again; free_port() of stack.py is the same in Python.
import dgram from "node:dgram";
import { once } from "node:events";
import net from "node:net";

/// The process that has the UDP port of this number has the port among all tests, for as long as it lives.
async function reserve(port) {
  const holder = dgram.createSocket("udp4").bind(port, "127.0.0.1");
  try {
    await once(holder, "listening");
    holder.unref();
    return true;
  } catch {
    return false;
  }
}

async function isFree(port) {
  const probe = net.createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}

/// Returns a port that is free and that no other test gets, below those that the system hands out to connections.
export async function freePort() {
  for (let tries = 0; tries < 1000; tries += 1) {
    const port = 16_000 + 10 * Math.floor(1500 * Math.random()) + 4 + Math.floor(6 * Math.random());
    if (await reserve(port) && await isFree(port)) return port;
  }
  throw new Error("no free port");
}
