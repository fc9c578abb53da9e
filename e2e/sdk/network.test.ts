import { expect, test } from "bun:test";
import { type CommandHandle, InvalidArgumentError, Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import * as e2b from "e2b";
import { openOutside } from "../support/outside.ts";
import { usePlatform } from "../support/platform.ts";
import { connection } from "../support/sandbox.ts";

const platform = usePlatform();

/** Connects, prints what it is greeted with, then passes lines there and back. Ends with the name of what went wrong. */
const TALK = `
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5) as s:
        f = s.makefile("rw")
        print(f.readline(), end="", flush=True)
        for line in sys.stdin:
            f.write(line); f.flush()
            print(f.readline(), end="", flush=True)
except OSError as e:
    print(type(e).__name__, flush=True)
`;

/** The answer code of the sandbox's name server to a question: 5 is "refused". */
const ASK = `
import socket
server = next(l.split()[1] for l in open("/etc/resolv.conf") if l.startswith("nameserver"))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(20)
s.sendto(bytes.fromhex("123401000001000000000000") + b"\\x07example\\x00" + bytes.fromhex("00010001"), (server, 53))
print(s.recv(512)[3] & 15)
`;

test("the way out of a running sandbox is closed and opened, for open connections and names too", async () => {
  await using outside = await openOutside();
  await using sandbox = await Sandbox.create({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
  await sandbox.files.write("talk.py", TALK);
  const talk = `python3 -u talk.py ${outside.address} ${outside.port}`;
  const reaches = async () => (await sandbox.commands.run(`${talk} </dev/null`)).stdout.trim();
  const asked = async () => (await sandbox.commands.run(`python3 -c '${ASK}'`)).stdout.trim();
  const open: CommandHandle = await sandbox.commands.run(talk, { background: true, stdin: true });
  const said = (text: string) => eventually(`the open connection gives ${text}`, () => open.stdout.endsWith(`${text}\n`));
  await said("hello");
  await open.sendStdin("one\n");
  await said("one");
  expect(await reaches()).toBe("hello");
  expect(await asked()).not.toBe("5");

  await sandbox.updateNetwork({ allowInternetAccess: false });
  expect(await reaches()).toBe("ConnectionRefusedError");
  expect(await asked()).toBe("5");
  await open.sendStdin("two\n");
  await said("ConnectionResetError");

  await sandbox.updateNetwork({});
  expect(await reaches()).toBe("hello");

  const theirs = await e2b.Sandbox.connect(sandbox.sandboxId, connection(platform()));
  await theirs.updateNetwork({ denyOut: ["0.0.0.0/0"] });
  expect(await reaches()).toBe("ConnectionRefusedError");

  const refused = await Sandbox.updateNetwork(
    sandbox.sandboxId,
    { allowOut: ["a.example"] },
    { apiUrl: platform().apiUrl, apiKey: platform().apiKey },
  ).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(InvalidArgumentError);
  expect((refused as InvalidArgumentError).message).toContain("allowOut");

  await platform().kill9();
  await platform().restart();
  expect(await reaches()).toBe("ConnectionRefusedError");
  await theirs.updateNetwork({ allowInternetAccess: true });
  expect(await reaches()).toBe("hello");
}, 60_000);

test("lists of single addresses hold in both clients, and through all that a sandbox is taken through", async () => {
  await using outside = await openOutside();
  const ours = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const network = { allowOut: ["192.0.2.1"], denyOut: [`${outside.address}/32`, "::/0"] };
  const talk = `python3 -u talk.py ${outside.address} ${outside.port} </dev/null`;
  const said = async ({ commands }: { commands: { run(command: string): Promise<{ stdout: string }> } }) =>
    (await commands.run(talk)).stdout.trim();
  const CLOSED = "ConnectionRefusedError";

  const theirs = await e2b.Sandbox.create({ ...connection(platform()), network });
  await theirs.files.write("talk.py", TALK);
  expect(await said(theirs)).toBe(CLOSED);
  expect((await theirs.getInfo()).network).toMatchObject(network);
  await using sandbox = await Sandbox.connect(theirs.sandboxId, ours);

  const snapshot = await sandbox.createSnapshot();
  const [copy] = await sandbox.fork();
  if (!copy || "error" in copy) throw copy?.error ?? new Error("there is no fork");
  expect(await said(copy.sandbox)).toBe(CLOSED);
  await copy.sandbox.kill();
  await sandbox.updateNetwork({ allowOut: [outside.address], denyOut: ["0.0.0.0/0"] });
  expect(await said(sandbox)).toBe("hello");

  await sandbox.rollback(snapshot.snapshotId);
  expect(await said(sandbox)).toBe("hello");
  await sandbox.updateNetwork(network);
  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    const resumed = await Sandbox.connect(sandbox.sandboxId, ours);
    expect([keepMemory, await said(resumed)]).toEqual([keepMemory, CLOSED]);
  }
  await platform().kill9();
  await platform().restart();
  expect(await said(sandbox)).toBe(CLOSED);
  expect((await theirs.getInfo()).network).toMatchObject(network);
  await theirs.updateNetwork({ denyOut: ["0.0.0.0/0"], allowOut: [outside.address] });
  expect(await said(sandbox)).toBe("hello");
}, 120_000);
