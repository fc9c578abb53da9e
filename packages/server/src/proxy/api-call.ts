/** What an access log says of a request besides its answer. */
export interface AccessFacts {
  /** The path of its operation, with the names of its parameters; absent: there is no such operation. */
  readonly route?: string;
  /** Id of the team; absent: the caller was refused, or needs no key. */
  readonly team?: string;
  /** How the caller was identified. */
  readonly by?: string;
  /** Id of the API key or access token, if it is one. */
  readonly key?: string;
}

/** What a handler gets besides the head of a request. */
export interface ApiCall {
  /** Says who calls what; what was noted before stays, as far as it is not said anew. */
  note(facts: AccessFacts): void;
  /** Everything that was noted. */
  readonly noted: AccessFacts;
  /** Where the request comes from. */
  readonly address: string;
  /**
   * Reads the request's body; until then no more of it is read than came with the head, so that a caller can be authenticated first. Throws
   * `resource_exhausted` (reason `body_too_large`) for a body of more than `maxBytes`, `canceled` when the client disconnects.
   */
  body(maxBytes: number): Promise<Buffer>;
  /**
   * The body as a stream, instead of `body`: the client waits while the reader is slow. The stream fails as `body` does. Throws
   * `resource_exhausted` (reason `body_too_large`) for a body that says that it is longer.
   */
  stream(maxBytes: number): ReadableStream<Uint8Array>;
  /** The answer of this call is sent as it is made, and with its Content-Length if it has one. */
  streamAnswer(): void;
  /**
   * Says that the caller has a valid key: its connection may be idle for longer. `hold` gets a function that cuts the connection, for the end of the
   * key, and returns one that is called when this exchange has ended.
   */
  trust(hold?: (cut: () => void) => () => void): void;
}

/** Answers requests to the platform API. The request has no body (`ApiCall.body` reads it); its signal aborts when the client disconnects. */
export type ApiHandler = (request: Request, call: ApiCall) => Response | Promise<Response>;
