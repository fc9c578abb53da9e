/*
 * The parser of node:http (llhttp, in its strict form), to be run by Node: each line of standard input is JSON, `["request", base64]` or
 * `["response", base64, method]`; each line of standard output is what it understood, in the same order. The parser is asked directly, so that a
 * message after the one in question changes nothing.
 */
const { HTTPParser, methods } = require("node:_http_common");
const { createInterface } = require("node:readline");

const pairs = (raw) => Array.from({ length: raw.length / 2 }, (_, i) => [raw[2 * i].toLowerCase(), raw[2 * i + 1]]);

function parse(kind, bytes, method) {
  const seen = [];
  const parser = new HTTPParser();
  let early = [];
  let url = "";
  parser.initialize(HTTPParser[kind.toUpperCase()], {}, 1 << 20, 0);
  parser[HTTPParser.kOnHeaders | 0] = (fields, target) => {
    early = early.concat(fields);
    url += target ?? "";
  };
  parser[HTTPParser.kOnHeadersComplete | 0] = (_major, minor, fields, methodIndex, target, status, _reason, upgrade) => {
    const all = fields ?? early;
    early = [];
    seen.push({
      ...(kind === "request" ? { method: methods[methodIndex], target: target ?? url } : { status }),
      minor,
      fields: pairs(all),
      body: "",
      complete: false,
    });
    url = "";
    if (upgrade) return 2;
    return kind === "response" && method === "HEAD" && status >= 200 ? 1 : 0;
  };
  parser[HTTPParser.kOnBody | 0] = (piece) => {
    seen.at(-1).body += piece.toString("latin1");
  };
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    seen.at(-1).complete = true;
    // What came as fields since the head is a trailer's.
    early = [];
    url = "";
  };
  let failure = parser.execute(bytes);
  if (!(failure instanceof Error)) failure = parser.finish();
  return { seen, ...(failure instanceof Error ? { error: failure.code } : {}) };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const [kind, base64, method] = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(parse(kind, Buffer.from(base64, "base64"), method))}\n`);
});
