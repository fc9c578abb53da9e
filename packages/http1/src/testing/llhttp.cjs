/*
 * The parser of node:http (llhttp, in strict mode), run by Node. Each line of standard input is JSON, `["request", base64]` or
 * `["response", base64, method]`; each line of standard output is the parsed messages, in the same order. Each line has a parser of its own, so that
 * samples are independent.
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
    // Fields since the head belong to the trailer.
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
