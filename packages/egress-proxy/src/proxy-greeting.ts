import type { UpstreamProxy } from "@boxyard/driver";
import { ResponseReader } from "@boxyard/http1";

/** What a client says to a proxy before the bytes for the server begin. Each protocol is one of these. */
export interface Greeting {
  /** What the client sends first. */
  readonly first: Uint8Array;
  /** Takes what the proxy has sent. `open`: the way to the server is there, and `rest` are its first bytes. Throws when the proxy refuses, or says what it must not. */
  push(bytes: Buffer): { readonly send?: Uint8Array; readonly open?: true; readonly rest?: Buffer };
}

/** Where a proxy is to lead: a name, which the proxy resolves, or an IPv4 address. */
export interface Destination {
  readonly host: string;
  readonly port: number;
}

export const greetingFor = (proxy: UpstreamProxy, destination: Destination): Greeting =>
  proxy.protocol === "http" ? new ConnectGreeting(proxy, destination) : new Socks5Greeting(proxy, destination);

/** The method CONNECT (RFC 9110, 9.3.6). */
class ConnectGreeting implements Greeting {
  readonly first: Uint8Array;
  private readonly answers = new ResponseReader();

  constructor({ username, password = "" }: UpstreamProxy, { host, port }: Destination) {
    const authority = `${host}:${port}`;
    const basic = username === undefined ? "" : Buffer.from(`${username}:${password}`).toString("base64");
    const authorization = basic && `Proxy-Authorization: Basic ${basic}\r\n`;
    this.first = Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization}\r\n`, "latin1");
  }

  push(bytes: Buffer) {
    const answer = this.answers.read(bytes, "CONNECT");
    if (!answer) return {};
    if (answer.status < 200 || answer.status > 299) throw new Error(`the proxy answered ${answer.status}`);
    // A length in this answer means nothing: what follows is of the server.
    return { open: true as const, rest: this.answers.rest };
  }
}

const VERSION = 5;
const METHOD = { none: 0, password: 2, refused: 0xff } as const;
const CONNECT = 1;
const ADDRESS = { ipv4: 1, name: 3, ipv6: 4 } as const;
/** Bytes of an answer before its address, and of the port after it. */
const BEFORE_ADDRESS = 4;
const PORT_BYTES = 2;

/** SOCKS5 (RFC 1928) with a user name and a password (RFC 1929), or without. */
class Socks5Greeting implements Greeting {
  readonly first: Uint8Array;
  private readonly proxy: UpstreamProxy;
  private readonly destination: Destination;
  private received: Buffer = Buffer.alloc(0);
  private step: "method" | "password" | "connect" = "method";

  constructor(proxy: UpstreamProxy, destination: Destination) {
    this.proxy = proxy;
    this.destination = destination;
    const methods = proxy.username === undefined ? [METHOD.none] : [METHOD.none, METHOD.password];
    this.first = Uint8Array.of(VERSION, methods.length, ...methods);
  }

  push(bytes: Buffer) {
    this.received = Buffer.concat([this.received, bytes]);
    return this.step === "connect" ? this.readAnswer() : this.readStep();
  }

  /** Both steps before the last one are answered with two bytes. */
  private readStep() {
    const [version, result] = this.received;
    if (version === undefined || result === undefined) return {};
    this.received = this.received.subarray(2);
    if (this.step === "password") {
      if (result !== 0) throw new Error("the proxy refused the password");
      return this.connect();
    }
    if (version !== VERSION) throw new Error("the proxy speaks no SOCKS5");
    if (result === METHOD.none) return this.connect();
    if (result !== METHOD.password || this.proxy.username === undefined) throw new Error("the proxy wants another authentication");
    this.step = "password";
    const [name, password] = [Buffer.from(this.proxy.username), Buffer.from(this.proxy.password ?? "")];
    return { send: Buffer.concat([Uint8Array.of(1, name.byteLength), name, Uint8Array.of(password.byteLength), password]) };
  }

  private connect() {
    if (this.received.byteLength > 0) throw new Error("the proxy answered before it was asked");
    this.step = "connect";
    const { host, port } = this.destination;
    const octets = /^\d+\.\d+\.\d+\.\d+$/.test(host) ? host.split(".").map(Number) : undefined;
    const name = Buffer.from(host, "latin1");
    const address = octets ? Uint8Array.of(ADDRESS.ipv4, ...octets) : Buffer.concat([Uint8Array.of(ADDRESS.name, name.byteLength), name]);
    return { send: Buffer.concat([Uint8Array.of(VERSION, CONNECT, 0), address, Uint8Array.of(port >> 8, port & 255)]) };
  }

  private readAnswer() {
    const [version, reply, , kind, length] = this.received;
    if (version !== undefined && version !== VERSION) throw new Error("the proxy speaks no SOCKS5");
    if (reply !== undefined && reply !== 0) throw new Error(`the proxy answered ${reply}`);
    if (kind === undefined || length === undefined) return {};
    const end = BEFORE_ADDRESS + addressBytes(kind, length) + PORT_BYTES;
    return this.received.byteLength < end ? {} : { open: true as const, rest: this.received.subarray(end) };
  }
}

/** `length`: the first byte of the address. */
function addressBytes(kind: number, length: number): number {
  if (kind === ADDRESS.ipv4) return 4;
  if (kind === ADDRESS.ipv6) return 16;
  if (kind === ADDRESS.name) return 1 + length;
  throw new Error("the proxy answered with an address of no known kind");
}
