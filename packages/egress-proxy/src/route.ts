import type { ClientConnection, Connection, RequestHead, ResponseHead } from "@boxyard/http1";
import type { Answer } from "./answer.ts";
import type { Attempt, HostOwner } from "./connect.ts";
import type { Claim } from "./rules.ts";

/** Sees one exchange as its client does. It copies what it keeps. */
export interface Tap {
  /** Whether the exchange should pause until `onDrain` calls. */
  readonly isBehind: boolean;
  onDrain(call: () => void): void;
  onRequestBody(bytes: Buffer): void;
  /** First the head, then the body. */
  onAnswer(bytes: Uint8Array): void;
  /** The exchange goes on as something else than HTTP. */
  onTunnel(): void;
  /** The answer has ended as it should. */
  onEnd(): void;
}

/** How a request gets to its server. */
export interface Route {
  readonly claim: Claim;
  /** Reaches the server. `isFresh`: by a connection that no other request has used. */
  reach(owner: HostOwner, isFresh: boolean): Attempt;
  /** The head of the request as the server gets it. */
  head(request: RequestHead): Uint8Array;
  /** Takes the connection to the server after a whole answer; absent: each request has a connection of its own. */
  keep?(server: Connection): void;
  /** The answer as the client gets it; absent: as the server sends it. */
  answer?(response: ResponseHead, request: RequestHead): Answer;
  /** The head of an interim answer, or of one that opens a tunnel, as the client gets it; absent: as the server sends it. */
  interim?(head: Uint8Array): Uint8Array;
  /** Sees what the client sends and gets. */
  readonly tap?: Tap;
  /** Called when the request is over, however it ends. */
  onOver?(): void;
  /** Answers a request whose server cannot be reached; absent: the connection is reset. */
  unreachable?(request: RequestHead, client: ClientConnection): void;
}
