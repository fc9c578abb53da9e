// A server of HTTP/2 and gRPC on Node, whose implementation is not the one that the egress proxy has. Usage: server.mjs ADDRESS CERT KEY
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Echo } from "./echo-service.mjs";

const [address, cert, key] = process.argv.slice(2);

const grpc = connectNodeAdapter({
  routes: (router) =>
    router.service(Echo, {
      say({ text }, { requestHeader, responseTrailer }) {
        responseTrailer.set("x-behind", `behind ${requestHeader.get("authorization")}`);
        if (text === "fail") throw new ConnectError("no such thing", Code.NotFound);
        if (text === "echo") return { text: requestHeader.get("authorization") ?? "" };
        return { text: `${text} ${requestHeader.get("x-added")}` };
      },
      async *count({ text }) {
        for (let i = 1; i <= Number(text); i++) yield { text: String(i) };
      },
      async *talk(texts) {
        for await (const { text } of texts) yield { text: `you said ${text}` };
      },
    }),
});

let cancelled = 0;
let newest;
const PATHS = {
  "/fields": (stream, _fields, raw) => {
    stream.respond({ ":status": 200, "set-cookie": ["a=1", "b=2"] });
    stream.end(JSON.stringify(raw));
  },
  "/upload": (stream) => {
    const hash = createHash("sha256");
    let behind = "";
    stream.on("data", (bytes) => hash.update(bytes));
    stream.on("trailers", (fields) => {
      behind = fields["x-behind"] ?? "";
    });
    stream.on("end", () => {
      stream.respond({ ":status": 200 });
      stream.end(`${hash.digest("hex")}${behind}`);
    });
  },
  "/large": (stream) => {
    stream.respond({ ":status": 200 });
    stream.end(Buffer.alloc(64 << 20));
  },
  "/events": (stream) => {
    stream.respond({ ":status": 200, "content-type": "text/event-stream" });
    stream.write("data: first\n\n");
    stream.on("close", () => {
      cancelled += 1;
    });
  },
  "/cancelled": (stream) => {
    stream.respond({ ":status": 200 });
    stream.end(String(cancelled));
  },
  "/echo": (stream, fields) => {
    stream.respond({ ":status": 200, "x-shown": fields.authorization ?? "" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "x-behind": fields.authorization ?? "" }));
    // In small pieces, so that a secret is in none of them whole.
    const text = `${fields.authorization} ${fields["accept-encoding"]}`;
    for (let at = 0; at < text.length; at += 5) stream.write(text.slice(at, at + 5));
    stream.end();
  },
  "/coded": (stream) => {
    stream.respond({ ":status": 200, "content-encoding": "gzip" });
    stream.end("not searched");
  },
  "/hints": (stream) => {
    stream.additionalHeaders({ ":status": 103, link: "</style>" });
    stream.respond({ ":status": 200 });
    stream.end("after all");
  },
  "/reset": (stream) => {
    stream.respond({ ":status": 200 });
    stream.write("half");
    setImmediate(() => stream.destroy(new Error("on purpose")));
  },
  "/cut": (stream) => {
    stream.respond({ ":status": 200 });
    stream.write("half", () => newest.destroy());
  },
  "/early": (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("no body needed");
  },
  "/leave": (stream) => {
    stream.respond({ ":status": 200 });
    stream.end("left");
    stream.session.close();
  },
};

const server = createSecureServer({ cert: readFileSync(cert), key: readFileSync(key), settings: { maxConcurrentStreams: 20 } });
server.on("secureConnection", (socket) => {
  newest = socket;
});
// The library's own answers every request as one of HTTP/1.1; here those of gRPC alone.
server.on("request", grpc);
const [compatible] = server.listeners("stream");
server.removeAllListeners("stream");
server.on("stream", function onStream(stream, fields, flags, raw) {
  stream.on("error", () => {});
  const path = fields[":path"];
  if (path.startsWith("/lab.Echo/")) compatible.call(this, stream, fields, flags, raw);
  else (PATHS[path.split("?")[0]] ?? PATHS["/fields"])(stream, fields, raw);
});
server.listen(443, address, () => console.log("ready"));
