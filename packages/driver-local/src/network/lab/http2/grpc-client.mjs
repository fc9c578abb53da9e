// A client of gRPC on Node. Usage: grpc-client.mjs URL; what it got goes to standard output as JSON.
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Echo } from "./echo-service.mjs";

const headers = { authorization: process.env.AUTHORIZATION ?? "" };
const client = createClient(Echo, createGrpcTransport({ baseUrl: process.argv[2] }));
const shown = {};

let behind;
const said = await client.say({ text: "hello" }, { headers, onTrailer: (fields) => (behind = fields.get("x-behind")) });
shown.say = said.text;
shown.behind = behind;
shown.failed = await client.say({ text: "fail" }).catch((error) => `${error.code} ${error.rawMessage}`);
shown.echo = await client.say({ text: "echo" }, { headers }).then(
  ({ text }) => text,
  () => "ended",
);
shown.count = 0;
for await (const { text } of client.count({ text: "5000" })) shown.count += Number(text);

/** Sends the next text when the answer to the last one has come, so that both directions are open at once. */
let answered = () => {};
async function* texts() {
  for (const text of ["one", "two", "three"]) {
    const next = new Promise((resolve) => (answered = resolve));
    yield { text };
    await next;
  }
}
shown.talk = [];
for await (const { text } of client.talk(texts())) {
  shown.talk.push(text);
  answered();
}
shown.many = (await Promise.all(Array.from({ length: 150 }, (_, i) => client.say({ text: `${i}` })))).length;
console.log(JSON.stringify(shown));
process.exit(0);
