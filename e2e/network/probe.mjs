// The attempts of Node: the rows of the file that is named, as JSON of verdicts.
import dgram from "node:dgram";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net from "node:net";

const LIMIT_MS = 20_000;
const PORT = 7000;

const get = (client, { host, at }, done) => {
  const lookup = (_host, options, found) => (options.all ? found(null, [{ address: at, family: 4 }]) : found(null, at, 4));
  const request = client.get({ host, path: "/", agent: false, timeout: LIMIT_MS, ...(at && { lookup }) }, async (answer) => {
    let body = "";
    for await (const piece of answer) body += piece;
    done(body);
  });
  request.on("timeout", () => request.destroy());
  request.on("error", () => done("no"));
};

const ATTEMPTS = {
  http: (row, done) => get(http, row, done),
  https: (row, done) => get(https, row, done),
  tcp({ at }, done) {
    const socket = net.connect({ host: at, port: PORT, timeout: LIMIT_MS }, () => {});
    socket.on("data", (bytes) => done(String(bytes)));
    socket.on("timeout", () => socket.destroy());
    socket.on("error", () => {});
    socket.on("close", () => done("no"));
  },
  udp({ at }, done) {
    const socket = dgram.createSocket("udp4");
    const end = (said) => {
      clearTimeout(timer);
      done(said);
      socket.close(() => {});
    };
    const timer = setTimeout(end, LIMIT_MS, "no");
    socket.once("message", (bytes) => end(String(bytes)));
    socket.once("error", () => end("no"));
    socket.connect(PORT, at, () => socket.send("hello"));
  },
};

const rows = JSON.parse(readFileSync(process.argv[2], "utf8")).filter(({ kind }) => ATTEMPTS[kind]);
const verdict = (row) => new Promise((resolve) => ATTEMPTS[row.kind](row, resolve));
const verdicts = await Promise.all(rows.map(async (row) => [row.id, (await verdict(row)) || "no"]));
console.log(JSON.stringify(Object.fromEntries(verdicts)));
