import { createServer } from "node:net";

/** A port of 127.0.0.1 that is free now, for TCP and for UDP. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const datagrams = await Bun.udpSocket({ hostname: "127.0.0.1", port }).catch(() => undefined);
  datagrams?.close();
  await new Promise((resolve) => server.close(resolve));
  return datagrams ? port : freePort();
}
