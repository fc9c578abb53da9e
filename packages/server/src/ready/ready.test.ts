import { expect, test } from "bun:test";
import { parseListening, portScript, urlScript } from "./probe-scripts.ts";
import { readyOf, readyOfSandbox } from "./ready.ts";

/** Ready commands that the helpers of the published SDKs, and of ours, make. */
const THEIRS = {
  port: '[ -n "$(ss -Htuln sport = :3000)" ]',
  url: 'curl -s -o /dev/null -w "%{http_code}" http://localhost:3000/health | grep -q "200"',
  quoted: `curl -s -o /dev/null -w "%{http_code}" 'http://localhost:3000/a b'"'"'c' | grep -q "204"`,
};
const OURS = {
  port: "ss -Htuln | grep -q ':3000 '",
  url: `[ "$(curl -s -o /dev/null -w '%{http_code}' 'http://localhost:3000/x y')" = "200" ]`,
};

test("ready commands are parsed", () => {
  expect(readyOf({})).toEqual({ kind: "nothing" });
  expect(readyOf({ startCmd: "serve" })).toEqual({ kind: "time", ms: 20_000, isTold: false });
  const times = ["sleep 10", " sleep 1.5s ", "sleep 2m"].map((readyCmd) => readyOf({ readyCmd }));
  expect(times).toEqual([10_000, 1500, 120_000].map((ms) => ({ kind: "time", ms, isTold: true })));
  const whats = [...Object.values(THEIRS), ...Object.values(OURS)].map((readyCmd) => readyOf({ readyCmd }));
  expect(whats.map((ready) => ready.kind === "command" && ready.what)).toEqual([
    "port 3000 to be listened on",
    "http://localhost:3000/health to answer with 200",
    `'http://localhost:3000/a b'"'"'c' to answer with 204`,
    "port 3000 to be listened on",
    "'http://localhost:3000/x y' to answer with 200",
  ]);
  for (const readyCmd of ["sleep 10 && true", "pgrep nginx", `curl -s -o /dev/null -w "%{http_code}" $(date) | grep -q "200"`])
    expect(readyOf({ readyCmd })).toEqual({ kind: "command", command: readyCmd, what: readyCmd });
});

test("a create waits for the ports of its template instead of a time; without ports, only for a time that the template asks for", () => {
  const ofPorts = readyOfSandbox({ startCmd: "serve", readyCmd: "sleep 5" }, [3000]);
  expect(ofPorts).toMatchObject({ ready: { kind: "command" }, limitMs: 5000 });
  expect(readyOfSandbox({ startCmd: "serve" }, [3000])).toMatchObject({ ready: { kind: "command" }, limitMs: 20_000 });
  expect(readyOfSandbox({ startCmd: "serve", readyCmd: "sleep 600" }, [])).toEqual({ ready: { kind: "time", ms: 30_000, isTold: true } });
  expect(readyOfSandbox({ startCmd: "serve" }, [])).toBeUndefined();
  expect(readyOfSandbox({}, [])).toBeUndefined();
});

/** Runs a script with bash, without any other program. */
const bash = async (script: string) => {
  const child = Bun.spawn(["/bin/bash", "-c", script], { env: { PATH: "/nowhere" }, stderr: "pipe", stdout: "ignore" });
  return { exitCode: await child.exited, stderr: await new Response(child.stderr).text() };
};

test("ports and URLs are checked without ss and curl", async () => {
  const requests: string[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: (request) => {
      requests.push(new URL(request.url).pathname);
      return new Response(null, { status: request.url.endsWith("/up") ? 200 : 503 });
    },
  });
  const port = Number(server.port);
  const url = (path: string, status = "200") => urlScript("false", `'http://127.0.0.1:${port}${path}'`, status);
  const outcome = async (script: string) => (await bash(script)).exitCode;
  expect([await outcome(portScript([port])), await outcome(portScript([port, 1]))]).toEqual([0, 1]);
  expect([await outcome(url("/up")), await outcome(url("/down")), await outcome(url("", "503"))]).toEqual([0, 1, 0]);
  expect(requests).toEqual(["/up", "/down", "/"]);
  await server.stop(true);
  expect([await outcome(portScript([port])), await outcome(url("/up"))]).toEqual([1, 1]);
  expect((await bash(urlScript("false", "https://x.test/", "200"))).stderr).toContain(
    "there is no curl in this image to ask https://x.test/",
  );
});

test("only ports that each sandbox of the template listens on are kept", async () => {
  const server = Bun.listen({ hostname: "0.0.0.0", port: 0, socket: { data() {} } });
  const line = (port: number, state = "0A") =>
    `   0: 0100007F:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 ${state} 00000000:00000000`;
  const text = [
    "  sl  local_address rem_address   st",
    line(8080),
    line(80),
    line(80),
    line(49983),
    line(40000),
    line(443, "01"),
    "32768\t60999",
  ];
  expect(parseListening(text.join("\n"))).toEqual([80, 8080]);
  const real = parseListening(`${await Bun.file("/proc/net/tcp").text()}1\t1\n`);
  expect(real).toEqual([]);
  server.stop(true);
});
