import assert from "node:assert/strict";
import { eventually, withSandbox } from "../with-sandbox.mjs";

/** Says over TLS, or plainly without a certificate, which Host it was asked for. */
const PROGRAM = `
const [, , port, tls] = process.argv;
const { readFileSync } = require("fs");
const answer = (q, s) => s.end(JSON.stringify({ host: q.headers.host, original: q.headers["x-forwarded-host"], tls: q.socket.encrypted === true }));
const server = tls ? require("https").createServer({ key: readFileSync("/tmp/key.pem"), cert: readFileSync("/tmp/cert.pem") }, answer) : require("http").createServer(answer);
server.listen(Number(port), process.argv[4]);
`;
const CERTIFICATE =
  "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /tmp/key.pem -out /tmp/cert.pem -days 2 -subj /CN=inside";

/** Ports that speak TLS inside, another Host, and private ports: also after a pause, and in a fork. */
export default async function (client) {
  const { Sandbox } = client;
  const network = { allowPublicTraffic: false, maskRequestHost: "app.test:$" + "{PORT}", httpsPorts: [8443, 8444] };
  await withSandbox(
    client,
    async (sandbox) => {
      const info = await sandbox.getInfo();
      assert.deepEqual(info.network.httpsPorts, [8443, 8444]);
      assert.equal(info.network.maskRequestHost, network.maskRequestHost);
      await sandbox.files.write("/tmp/serve.js", PROGRAM);
      await sandbox.commands.run(CERTIFICATE);
      for (const words of ["8443 tls", "8444 tls 127.0.0.1", "8080 ''"])
        await sandbox.commands.run(`exec node /tmp/serve.js ${words}`, { background: true });
      await asked(sandbox);
      await sandbox.pause();
      await asked(await Sandbox.connect(sandbox.sandboxId));
      const [copy] = (await sandbox.fork()) ?? [];
      const forked = copy?.sandbox ?? copy;
      try {
        assert.notEqual(forked.sandboxId, sandbox.sandboxId);
        await asked(forked);
      } finally {
        await forked.kill();
      }
    },
    { network, timeoutMs: 120_000 },
  );
  await assert.rejects(Sandbox.create({ network: { httpsPorts: [49983] } }), /httpsPorts/);
}

async function asked(sandbox) {
  const base = process.env.E2B_SANDBOX_URL;
  const ask = async (port, token) => {
    const headers = { "E2b-Sandbox-Id": sandbox.sandboxId, "E2b-Sandbox-Port": String(port) };
    return await fetch(base, { headers: token ? { ...headers, "e2b-traffic-access-token": token } : headers });
  };
  const { trafficAccessToken } = sandbox;
  assert.ok(trafficAccessToken);
  for (const [port, tls] of [
    [8443, true],
    [8444, true],
    [8080, false],
  ]) {
    await eventually(`${port} answers`, async () => (await ask(port, trafficAccessToken)).status === 200);
    const seen = await (await ask(port, trafficAccessToken)).json();
    assert.deepEqual({ ...seen, original: undefined }, { host: `app.test:${port}`, original: undefined, tls });
    assert.equal(seen.original, new URL(base).host);
    for (const [token, says] of [
      [undefined, /is missing/],
      ["wrong", /is invalid/],
    ]) {
      const refused = await ask(port, token);
      assert.equal(refused.status, 403);
      const body = await refused.json();
      assert.match(body.message, says);
      assert.deepEqual([body.code, body.sandboxId], [403, sandbox.sandboxId]);
    }
  }
}
