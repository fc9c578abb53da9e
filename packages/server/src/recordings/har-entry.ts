import { createHash } from "node:crypto";
import type { RecordedExchange, RecordedFields } from "@boxyard/driver/recordings";

/* One entry of an archive of exchanges (HTTP Archive 1.2, HAR). Members that begin with `_` are our own, as the format allows. */

/** An exchange of an archive, with its bodies. */
export interface ArchivedExchange {
  readonly exchange: Omit<RecordedExchange, "body" | "answer">;
  readonly body: Buffer;
  readonly answer: Buffer;
}

/** Fields that say how a message was sent; and those of HTTP/2, which are no fields. */
const OF_TRANSFER = /^(:.*|connection|keep-alive|transfer-encoding|trailer|content-length)$/i;
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,1024}$/;
const METHOD = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}$/;
/** Longest URL, as long as a head may be. */
const MAX_URL = 64 << 10;
/** Characters beyond ISO 8859-1, which no field can have. */
const NOT_OF_FIELDS = /[^\t\x20-\x7e\x80-\xff]/;

type Json = Readonly<Record<string, unknown>>;

/** Undefined for what is no exchange by HTTP with an answer: a WebSocket, a request that was broken off. */
export function exchangeOfEntry(value: unknown): ArchivedExchange | undefined {
  const entry = objectOf(value);
  const request = objectOf(entry.request);
  const response = objectOf(entry.response);
  const { method, url } = request;
  const { status, statusText } = response;
  if (typeof method !== "string" || !METHOD.test(method) || typeof url !== "string" || typeof status !== "number") return undefined;
  const address = urlOf(url);
  if (address === undefined || !Number.isInteger(status) || status < 200 || status > 999) return undefined;
  const content = objectOf(response.content);
  // An archive of another program has the content without its coding.
  const isPlain = content._isRaw !== true;
  const body = bytesOf(objectOf(request.postData));
  const at = Date.parse(String(entry.startedDateTime));
  const digest = request._digest;
  const isDigest = typeof digest === "string" && /^[0-9a-f]{64}$/.test(digest);
  const exchange = {
    at: Number.isNaN(at) || at < 0 ? 0 : at,
    tookMs: typeof entry.time === "number" && entry.time >= 0 && entry.time < 1e9 ? Math.round(entry.time) : 0,
    method,
    url: address,
    fields: fieldsOf(request.headers, (name) => !OF_TRANSFER.test(name)),
    digest: isDigest ? digest : body.byteLength > 0 ? createHash("sha256").update(body).digest("hex") : "",
    status,
    reason: typeof statusText === "string" && statusText.length < 1000 && !NOT_OF_FIELDS.test(statusText) ? statusText : "",
    answerFields: fieldsOf(response.headers, (name) => !OF_TRANSFER.test(name) && !(isPlain && name.toLowerCase() === "content-encoding")),
  };
  return { exchange, body, answer: bytesOf(content) };
}

/** What stands in an entry before the body of the request, between it and the content of the answer, and behind that; both are written in pieces. */
export function entryOf({ at, tookMs, method, url, fields, body, digest, status, reason, answerFields, answer }: RecordedExchange) {
  const headers = (list: RecordedFields) => list.map(([name, value]) => ({ name, value }));
  const typeOf = (list: RecordedFields) => list.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "";
  // A sandbox can ask for what is no URL: by a Host that is no name.
  const queryString = [...(URL.parse(url)?.searchParams ?? [])].map(([name, value]) => ({ name, value }));
  const common = { httpVersion: "HTTP/1.1", cookies: [], headersSize: -1 };
  const request = {
    ...{ method, url, ...common, headers: headers(fields), queryString, bodySize: body.bytes },
    ...(digest !== "" && { _digest: digest }),
  };
  const hasBody = body.bytes > 0;
  const postData = { mimeType: typeOf(fields), _encoding: "base64" };
  const first = { startedDateTime: new Date(at).toISOString(), time: tookMs };
  const response = {
    ...{ status, statusText: reason, ...common, headers: headers(answerFields), bodySize: answer.bytes },
    redirectURL: answerFields.find(([name]) => name.toLowerCase() === "location")?.[1] ?? "",
  };
  const content = { size: answer.bytes, mimeType: typeOf(answerFields), encoding: "base64", _isRaw: true };
  const open = (value: object) => JSON.stringify(value).slice(0, -1);
  return {
    before: `${open(first)},"request":${open(request)}${hasBody ? `,"postData":${open(postData)},"text":"` : ""}`,
    between: `${hasBody ? `"}` : ""}},"response":${open(response)},"content":${open(content)},"text":"`,
    after: `"}},"cache":{},"timings":{"send":0,"wait":${tookMs},"receive":0}}`,
  };
}

const objectOf = (value: unknown): Json => (typeof value === "object" && value !== null ? (value as Json) : {});

function urlOf(text: string): string | undefined {
  const url = text.length > MAX_URL ? null : URL.parse(text);
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined;
  // As a proxy sees it: without a name, a fragment and the usual port.
  return `${url.protocol}//${url.host}${url.pathname}${url.search}`;
}

function fieldsOf(value: unknown, isKept: (name: string) => boolean): RecordedFields {
  if (!Array.isArray(value)) return [];
  return value.slice(0, 1000).flatMap((one) => {
    const { name, value: text } = objectOf(one);
    if (typeof name !== "string" || typeof text !== "string" || !FIELD_NAME.test(name) || !isKept(name)) return [];
    return NOT_OF_FIELDS.test(text) || text.length > 64 << 10 ? [] : [[name, text] as const];
  });
}

function bytesOf({ text, encoding, _encoding }: Json): Buffer {
  if (typeof text !== "string") return Buffer.alloc(0);
  return Buffer.from(text, encoding === "base64" || _encoding === "base64" ? "base64" : "utf8");
}
