export { type BodyScanner, ChunkedDecoder, ChunkedScanner, scannerFor } from "./body.ts";
export { ByteBuilder } from "./byte-builder.ts";
export { ClientConnection, type ClientHost } from "./client-connection.ts";
export { IDLE_MS, STALL_MS } from "./client-limits.ts";
export { ClientTable } from "./client-table.ts";
export { BULK_BYTES, Connection, type ConnectionOwner } from "./connection.ts";
export { ConnectionStream } from "./connection-stream.ts";
export type { Exchange, Takeover } from "./exchange.ts";
export { FieldNames, type FieldRules, Fields, NOTABLE } from "./fields.ts";
export {
  type Framing,
  HeadError,
  MAX_HEAD_BYTES,
  parseRequestHead,
  parseResponseHead,
  type RequestHead,
  type ResponseHead,
  wantsContinue,
} from "./head.ts";
export { addField, answerFields, emptyFields, type FieldList, type RequestFields, requestFields } from "./http2-fields.ts";
export { moveInKernel } from "./kernel-relay.ts";
export { ResponseReader } from "./response-reader.ts";
export { type ConnectInside, type UpstreamOwner, UpstreamPool, type UpstreamTarget, type UpstreamTls } from "./upstream-pool.ts";
export { forwardedRequest, forwardedResponse, type OtherHost, ownResponse, REASONS, type ResponseEdit } from "./write-head.ts";
