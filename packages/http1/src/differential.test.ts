import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { METHODS, requestSample, responseSample, type Sample } from "./testing/messages.ts";
import { Random } from "./testing/random.ts";
import { recordAnswer } from "./testing/recorded-answer.ts";
import { inPieces, record, type Seen } from "./testing/recorded-server.ts";

/*
 * The same bytes for our parser and for that of node:http (llhttp). Ours may refuse more. What ours accepts, llhttp must parse as the same messages, with
 * the same fields and content, or refuse: two parsers that see different messages on one connection make request smuggling possible.
 */

const COUNT = 6000;
const SEED = 20261122;

interface Theirs {
  readonly seen: readonly {
    readonly method?: string;
    readonly target?: string;
    readonly status?: number;
    readonly fields: readonly (readonly [string, string])[];
    readonly body: string;
    readonly complete: boolean;
  }[];
  readonly error?: string;
}

/** How llhttp parses each. */
async function llhttp(questions: readonly (readonly string[])[]): Promise<Theirs[]> {
  const input = new Blob([questions.map((question) => `${JSON.stringify(question)}\n`).join("")]);
  const node = Bun.spawn(["node", join(import.meta.dir, "testing/llhttp.cjs")], { stdin: input, stdout: "pipe", stderr: "inherit" });
  const lines = (await new Response(node.stdout).text()).trim().split("\n");
  expect([await node.exited, lines.length]).toEqual([0, questions.length]);
  return lines.map((line) => JSON.parse(line) as Theirs);
}

/** Matches a trailer: the last chunk, and a line behind it. */
const IN_TRAILER = /\n0+(?:[ \t]*;.*)?\r\n./;

/** Valid messages of RFC 9112 that llhttp refuses: its error, and whether that reason applies to a message. */
const STRICTER: Readonly<Record<string, (request: { readonly method: string; readonly target: string }, text: string) => boolean>> = {
  // llhttp accepts the methods of a list only.
  HPE_INVALID_METHOD: ({ method }) => !METHODS.includes(method),
  // llhttp refuses bytes above 127 in a target; browsers and curl send them.
  HPE_INVALID_URL: ({ target }) => /[\x80-\xff]/.test(target),
  // llhttp refuses blanks around the semicolon of a chunk's extension, and extensions other than `name=value`.
  HPE_INVALID_CHUNK_SIZE: (_request, text) => /[ \t];/.test(text),
  HPE_STRICT: (_request, text) => /\n[0-9a-f]+[ \t]*;/i.test(text),
  // llhttp applies framing fields of a trailer, and refuses a tab after the value of a framing field.
  HPE_INVALID_CONTENT_LENGTH: (_request, text) => IN_TRAILER.test(text) || /Content-Length:[ \t]*\d+ *\t/i.test(text),
  HPE_INVALID_TRANSFER_ENCODING: (_request, text) => IN_TRAILER.test(text) || /Transfer-Encoding:[ \t]*chunked *\t/i.test(text),
  HPE_INVALID_HEADER_TOKEN: (_request, text) => IN_TRAILER.test(text),
  // llhttp applies Connection: close of an interim answer.
  HPE_CLOSED_CONNECTION: (_request, text) => /^HTTP\/1\.[01] 1/.test(text),
};

/** Whether llhttp's refusal is one of `STRICTER`. Other versions of Node have other codes for the same reasons. */
function isStricter(error: string | undefined, request: { readonly method: string; readonly target: string }, text: string): boolean {
  if (error === undefined) return false;
  const known = STRICTER[error];
  return (known ? [known] : Object.values(STRICTER)).some((applies) => applies(request, text));
}

/** The target in origin form, as our parser gives it. */
const originOf = (target: string) => target.replace(/^https?:\/\/[^/?#]+/i, "").replace(/^(?![/*])/, "/");

function requestOf(theirs: Theirs["seen"][number]): Omit<Seen, "host"> {
  return { method: theirs.method ?? "", target: originOf(theirs.target ?? ""), fields: theirs.fields, body: theirs.body };
}

/** How our parser disagrees with llhttp about a sample; undefined if it does not. */
function disagreement({ bytes, isHarmed }: Sample, theirs: Theirs): string | undefined {
  const text = bytes.toString("latin1");
  const { requests, refused, isOpen } = record([bytes]);
  if (!isHarmed && refused !== undefined) return `refused with ${refused}: ${JSON.stringify(text)}`;
  for (const [i, { host: _host, ...ours }] of requests.entries()) {
    const other = theirs.seen[i];
    if (other?.complete) {
      if (Bun.deepEquals(ours, requestOf(other))) continue;
      return `${JSON.stringify(ours)} is ${JSON.stringify(other)} in ${JSON.stringify(text)}`;
    }
    if (isStricter(theirs.error, ours, text)) return undefined;
    return `${theirs.error}: ${JSON.stringify(ours)} in ${JSON.stringify(text)}`;
  }
  // While our parser waits for the rest of a message, llhttp must not have found its end.
  const next = theirs.seen[requests.length];
  if (refused === undefined && isOpen && next?.complete) return `unfinished, but ${JSON.stringify(next)} in ${JSON.stringify(text)}`;
  return undefined;
}

describe("compared with llhttp", () => {
  test(`${COUNT} connections of requests`, async () => {
    const random = new Random(SEED);
    const samples = Array.from({ length: COUNT }, () => requestSample(random));
    const theirs = await llhttp(samples.map(({ bytes }) => ["request", bytes.toString("base64")]));
    expect(samples.flatMap((sample, i) => disagreement(sample, theirs[i] as Theirs) ?? []).slice(0, 5)).toEqual([]);
    // The samples are a mix of valid and invalid messages.
    const accepted = samples.filter(({ bytes, isHarmed }) => isHarmed && record([bytes]).refused === undefined).length;
    expect(accepted).toBeGreaterThan(COUNT / 20);
    expect(accepted).toBeLessThan(COUNT / 2);
  }, 60_000);

  test(`${COUNT} answers`, async () => {
    const random = new Random(SEED + 1);
    const samples = Array.from({ length: COUNT }, () => ({ ...responseSample(random), method: random.of(["GET", "GET", "HEAD", "POST"]) }));
    const theirs = await llhttp(samples.map(({ bytes, method }) => ["response", bytes.toString("base64"), method]));
    const wrong = samples.flatMap(({ bytes, method, isHarmed }, i) => {
      const text = bytes.toString("latin1");
      const ours = recordAnswer([bytes], method);
      if (!ours) return isHarmed ? [] : [`refused: ${method} ${JSON.stringify(text)}`];
      const { seen, error } = theirs[i] as Theirs;
      return ours.flatMap(({ complete, ...answer }, k) => {
        const other = seen[k];
        if (!complete) return other?.complete ? [`unfinished, but ${JSON.stringify(other)} in ${method} ${JSON.stringify(text)}`] : [];
        if (other?.complete) {
          const same = { status: other.status, fields: other.fields, body: other.body };
          return Bun.deepEquals(same, answer)
            ? []
            : [`${JSON.stringify(answer)} is ${JSON.stringify(other)} in ${method} ${JSON.stringify(text)}`];
        }
        return isStricter(error, { method: "GET", target: "" }, text)
          ? []
          : [`${error}: ${JSON.stringify(answer)} in ${method} ${JSON.stringify(text)}`];
      });
    });
    expect(wrong.slice(0, 5)).toEqual([]);
  }, 60_000);
});

test("the borders of packets change nothing: every sample in pieces of each size up to 40, and cut in two at each byte", () => {
  const random = new Random(SEED + 2);
  for (let i = 0; i < 60; i++) {
    const { bytes } = requestSample(random);
    const whole = record([bytes]);
    for (let size = 1; size <= 40; size++) expect(record(inPieces(bytes, size))).toEqual(whole);
    for (let at = 1; at < bytes.byteLength; at++) expect(record([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    const answer = responseSample(random).bytes;
    const once = recordAnswer([answer], "GET");
    for (let size = 1; size <= 40; size++) expect(recordAnswer(inPieces(answer, size), "GET")).toEqual(once);
    for (let at = 1; at < answer.byteLength; at++) expect(recordAnswer([answer.subarray(0, at), answer.subarray(at)], "GET")).toEqual(once);
  }
}, 120_000);
