// A user's program that speaks HTTP/2, with Node's own client, to the API and to a port of a sandbox.

import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { Sandbox } from "e2b";

const sandbox = await Sandbox.connect(process.env.SANDBOX);
await sandbox.files.write("/tmp/echo.js", process.env.ECHO_PROGRAM);
await sandbox.commands.run("node /tmp/echo.js", { background: true, timeoutMs: 0 });
const site = `https://${sandbox.getHost(8080)}`;
const session = connect(site, { ca: readFileSync(process.env.NODE_EXTRA_CA_CERTS) });
const ask = (fields, body) =>
  new Promise((resolve, reject) => {
    const stream = session.request(fields, { endStream: body === undefined });
    let text = "";
    let status = 0;
    stream.setEncoding("utf8");
    stream.on("response", (answer) => {
      status = answer[":status"];
    });
    stream.on("data", (piece) => {
      text += piece;
    });
    stream.on("end", () => resolve({ status, text })).on("error", reject);
    if (body !== undefined) stream.end(body);
  });
const here = { ":authority": new URL(site).host };
for (let status = 502; status === 502; ) ({ status } = await ask({ ...here, ":path": "/" }));
const { text } = await ask({ ...here, ":path": "/headers" });
const health = await ask({ ":authority": `api.${process.env.E2B_DOMAIN}`, ":path": "/health" });
// To the agent, through the name of its port.
const agent = {
  ":authority": sandbox.getHost(49983),
  ":method": "POST",
  ":path": "/files?path=/tmp/large",
  "content-type": "application/octet-stream",
};
const written = await ask({ ...agent, "x-access-token": sandbox.envdAccessToken ?? "" }, Buffer.alloc(8 << 20, 7));
const { size } = written.status === 200 ? await sandbox.files.getInfo("/tmp/large") : { size: written };
const many = await Promise.all(Array.from({ length: 50 }, () => ask({ ...here, ":path": "/" })));
const seen = { spoken: session.alpnProtocol, health: health.status, host: JSON.parse(text).host === new URL(site).host, uploaded: size };
console.log(JSON.stringify({ ...seen, at_once: many.filter((answer) => answer.status === 200).length }));
session.close();
process.exit(0);
