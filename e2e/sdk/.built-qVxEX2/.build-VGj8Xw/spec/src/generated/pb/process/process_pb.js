// The process service of the in-sandbox agent. Field numbers and names are the wire that public clients speak (contract/wire.md 4.3).
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file process/process.proto.
 */
export const file_process_process = /*@__PURE__*/ fileDesc("ChVwcm9jZXNzL3Byb2Nlc3MucHJvdG8SB3Byb2Nlc3MiSgoDUFRZEh8KBHNpemUYASABKAsyES5wcm9jZXNzLlBUWS5TaXplGiIKBFNpemUSDAoEY29scxgBIAEoDRIMCgRyb3dzGAIgASgNIqEBCg1Qcm9jZXNzQ29uZmlnEgsKA2NtZBgBIAEoCRIMCgRhcmdzGAIgAygJEi4KBGVudnMYAyADKAsyIC5wcm9jZXNzLlByb2Nlc3NDb25maWcuRW52c0VudHJ5EhAKA2N3ZBgEIAEoCUgAiAEBGisKCUVudnNFbnRyeRILCgNrZXkYASABKAkSDQoFdmFsdWUYAiABKAk6AjgBQgYKBF9jd2QiXAoLUHJvY2Vzc0luZm8SJgoGY29uZmlnGAEgASgLMhYucHJvY2Vzcy5Qcm9jZXNzQ29uZmlnEgsKA3BpZBgCIAEoDRIQCgN0YWcYAyABKAlIAIgBAUIGCgRfdGFnIg0KC0xpc3RSZXF1ZXN0IjcKDExpc3RSZXNwb25zZRInCglwcm9jZXNzZXMYASADKAsyFC5wcm9jZXNzLlByb2Nlc3NJbmZvIpcBCgxTdGFydFJlcXVlc3QSJwoHcHJvY2VzcxgBIAEoCzIWLnByb2Nlc3MuUHJvY2Vzc0NvbmZpZxIeCgNwdHkYAiABKAsyDC5wcm9jZXNzLlBUWUgAiAEBEhAKA3RhZxgDIAEoCUgBiAEBEhIKBXN0ZGluGAQgASgISAKIAQFCBgoEX3B0eUIGCgRfdGFnQggKBl9zdGRpbiI1Cg1TdGFydFJlc3BvbnNlEiQKBWV2ZW50GAEgASgLMhUucHJvY2Vzcy5Qcm9jZXNzRXZlbnQiOwoOQ29ubmVjdFJlcXVlc3QSKQoHcHJvY2VzcxgBIAEoCzIYLnByb2Nlc3MuUHJvY2Vzc1NlbGVjdG9yIjcKD0Nvbm5lY3RSZXNwb25zZRIkCgVldmVudBgBIAEoCzIVLnByb2Nlc3MuUHJvY2Vzc0V2ZW50ImIKDVVwZGF0ZVJlcXVlc3QSKQoHcHJvY2VzcxgBIAEoCzIYLnByb2Nlc3MuUHJvY2Vzc1NlbGVjdG9yEh4KA3B0eRgCIAEoCzIMLnByb2Nlc3MuUFRZSACIAQFCBgoEX3B0eSIQCg5VcGRhdGVSZXNwb25zZSKvAwoMUHJvY2Vzc0V2ZW50EjEKBXN0YXJ0GAEgASgLMiAucHJvY2Vzcy5Qcm9jZXNzRXZlbnQuU3RhcnRFdmVudEgAEi8KBGRhdGEYAiABKAsyHy5wcm9jZXNzLlByb2Nlc3NFdmVudC5EYXRhRXZlbnRIABItCgNlbmQYAyABKAsyHi5wcm9jZXNzLlByb2Nlc3NFdmVudC5FbmRFdmVudEgAEjQKCWtlZXBhbGl2ZRgEIAEoCzIfLnByb2Nlc3MuUHJvY2Vzc0V2ZW50LktlZXBBbGl2ZUgAGhkKClN0YXJ0RXZlbnQSCwoDcGlkGAEgASgNGkgKCURhdGFFdmVudBIQCgZzdGRvdXQYASABKAxIABIQCgZzdGRlcnIYAiABKAxIABINCgNwdHkYAyABKAxIAEIICgZvdXRwdXQaWwoIRW5kRXZlbnQSEQoJZXhpdF9jb2RlGAEgASgREg4KBmV4aXRlZBgCIAEoCBIOCgZzdGF0dXMYAyABKAkSEgoFZXJyb3IYBCABKAlIAIgBAUIICgZfZXJyb3IaCwoJS2VlcEFsaXZlQgcKBWV2ZW50IjcKDFByb2Nlc3NJbnB1dBIPCgVzdGRpbhgBIAEoDEgAEg0KA3B0eRgCIAEoDEgAQgcKBWlucHV0ImMKEFNlbmRJbnB1dFJlcXVlc3QSKQoHcHJvY2VzcxgBIAEoCzIYLnByb2Nlc3MuUHJvY2Vzc1NlbGVjdG9yEiQKBWlucHV0GAIgASgLMhUucHJvY2Vzcy5Qcm9jZXNzSW5wdXQiEwoRU2VuZElucHV0UmVzcG9uc2UiwgIKElN0cmVhbUlucHV0UmVxdWVzdBI3CgVzdGFydBgBIAEoCzImLnByb2Nlc3MuU3RyZWFtSW5wdXRSZXF1ZXN0LlN0YXJ0RXZlbnRIABI1CgRkYXRhGAIgASgLMiUucHJvY2Vzcy5TdHJlYW1JbnB1dFJlcXVlc3QuRGF0YUV2ZW50SAASOgoJa2VlcGFsaXZlGAMgASgLMiUucHJvY2Vzcy5TdHJlYW1JbnB1dFJlcXVlc3QuS2VlcEFsaXZlSAAaNwoKU3RhcnRFdmVudBIpCgdwcm9jZXNzGAEgASgLMhgucHJvY2Vzcy5Qcm9jZXNzU2VsZWN0b3IaMQoJRGF0YUV2ZW50EiQKBWlucHV0GAIgASgLMhUucHJvY2Vzcy5Qcm9jZXNzSW5wdXQaCwoJS2VlcEFsaXZlQgcKBWV2ZW50IhUKE1N0cmVhbUlucHV0UmVzcG9uc2UiXwoRU2VuZFNpZ25hbFJlcXVlc3QSKQoHcHJvY2VzcxgBIAEoCzIYLnByb2Nlc3MuUHJvY2Vzc1NlbGVjdG9yEh8KBnNpZ25hbBgCIAEoDjIPLnByb2Nlc3MuU2lnbmFsIhQKElNlbmRTaWduYWxSZXNwb25zZSI+ChFDbG9zZVN0ZGluUmVxdWVzdBIpCgdwcm9jZXNzGAEgASgLMhgucHJvY2Vzcy5Qcm9jZXNzU2VsZWN0b3IiFAoSQ2xvc2VTdGRpblJlc3BvbnNlIjsKD1Byb2Nlc3NTZWxlY3RvchINCgNwaWQYASABKA1IABINCgN0YWcYAiABKAlIAEIKCghzZWxlY3RvcipICgZTaWduYWwSFgoSU0lHTkFMX1VOU1BFQ0lGSUVEEAASEgoOU0lHTkFMX1NJR0tJTEwQCRISCg5TSUdOQUxfU0lHVEVSTRAPMpEECgdQcm9jZXNzEjMKBExpc3QSFC5wcm9jZXNzLkxpc3RSZXF1ZXN0GhUucHJvY2Vzcy5MaXN0UmVzcG9uc2USPgoHQ29ubmVjdBIXLnByb2Nlc3MuQ29ubmVjdFJlcXVlc3QaGC5wcm9jZXNzLkNvbm5lY3RSZXNwb25zZTABEjgKBVN0YXJ0EhUucHJvY2Vzcy5TdGFydFJlcXVlc3QaFi5wcm9jZXNzLlN0YXJ0UmVzcG9uc2UwARI5CgZVcGRhdGUSFi5wcm9jZXNzLlVwZGF0ZVJlcXVlc3QaFy5wcm9jZXNzLlVwZGF0ZVJlc3BvbnNlEkoKC1N0cmVhbUlucHV0EhsucHJvY2Vzcy5TdHJlYW1JbnB1dFJlcXVlc3QaHC5wcm9jZXNzLlN0cmVhbUlucHV0UmVzcG9uc2UoARJCCglTZW5kSW5wdXQSGS5wcm9jZXNzLlNlbmRJbnB1dFJlcXVlc3QaGi5wcm9jZXNzLlNlbmRJbnB1dFJlc3BvbnNlEkUKClNlbmRTaWduYWwSGi5wcm9jZXNzLlNlbmRTaWduYWxSZXF1ZXN0GhsucHJvY2Vzcy5TZW5kU2lnbmFsUmVzcG9uc2USRQoKQ2xvc2VTdGRpbhIaLnByb2Nlc3MuQ2xvc2VTdGRpblJlcXVlc3QaGy5wcm9jZXNzLkNsb3NlU3RkaW5SZXNwb25zZWIGcHJvdG8z");
/**
 * Describes the message process.PTY.
 * Use `create(PTYSchema)` to create a new message.
 */
export const PTYSchema = /*@__PURE__*/ messageDesc(file_process_process, 0);
/**
 * Describes the message process.PTY.Size.
 * Use `create(PTY_SizeSchema)` to create a new message.
 */
export const PTY_SizeSchema = /*@__PURE__*/ messageDesc(file_process_process, 0, 0);
/**
 * Describes the message process.ProcessConfig.
 * Use `create(ProcessConfigSchema)` to create a new message.
 */
export const ProcessConfigSchema = /*@__PURE__*/ messageDesc(file_process_process, 1);
/**
 * Describes the message process.ProcessInfo.
 * Use `create(ProcessInfoSchema)` to create a new message.
 */
export const ProcessInfoSchema = /*@__PURE__*/ messageDesc(file_process_process, 2);
/**
 * Describes the message process.ListRequest.
 * Use `create(ListRequestSchema)` to create a new message.
 */
export const ListRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 3);
/**
 * Describes the message process.ListResponse.
 * Use `create(ListResponseSchema)` to create a new message.
 */
export const ListResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 4);
/**
 * Describes the message process.StartRequest.
 * Use `create(StartRequestSchema)` to create a new message.
 */
export const StartRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 5);
/**
 * Describes the message process.StartResponse.
 * Use `create(StartResponseSchema)` to create a new message.
 */
export const StartResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 6);
/**
 * Describes the message process.ConnectRequest.
 * Use `create(ConnectRequestSchema)` to create a new message.
 */
export const ConnectRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 7);
/**
 * Describes the message process.ConnectResponse.
 * Use `create(ConnectResponseSchema)` to create a new message.
 */
export const ConnectResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 8);
/**
 * Describes the message process.UpdateRequest.
 * Use `create(UpdateRequestSchema)` to create a new message.
 */
export const UpdateRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 9);
/**
 * Describes the message process.UpdateResponse.
 * Use `create(UpdateResponseSchema)` to create a new message.
 */
export const UpdateResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 10);
/**
 * Describes the message process.ProcessEvent.
 * Use `create(ProcessEventSchema)` to create a new message.
 */
export const ProcessEventSchema = /*@__PURE__*/ messageDesc(file_process_process, 11);
/**
 * Describes the message process.ProcessEvent.StartEvent.
 * Use `create(ProcessEvent_StartEventSchema)` to create a new message.
 */
export const ProcessEvent_StartEventSchema = /*@__PURE__*/ messageDesc(file_process_process, 11, 0);
/**
 * Describes the message process.ProcessEvent.DataEvent.
 * Use `create(ProcessEvent_DataEventSchema)` to create a new message.
 */
export const ProcessEvent_DataEventSchema = /*@__PURE__*/ messageDesc(file_process_process, 11, 1);
/**
 * Describes the message process.ProcessEvent.EndEvent.
 * Use `create(ProcessEvent_EndEventSchema)` to create a new message.
 */
export const ProcessEvent_EndEventSchema = /*@__PURE__*/ messageDesc(file_process_process, 11, 2);
/**
 * Describes the message process.ProcessEvent.KeepAlive.
 * Use `create(ProcessEvent_KeepAliveSchema)` to create a new message.
 */
export const ProcessEvent_KeepAliveSchema = /*@__PURE__*/ messageDesc(file_process_process, 11, 3);
/**
 * Describes the message process.ProcessInput.
 * Use `create(ProcessInputSchema)` to create a new message.
 */
export const ProcessInputSchema = /*@__PURE__*/ messageDesc(file_process_process, 12);
/**
 * Describes the message process.SendInputRequest.
 * Use `create(SendInputRequestSchema)` to create a new message.
 */
export const SendInputRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 13);
/**
 * Describes the message process.SendInputResponse.
 * Use `create(SendInputResponseSchema)` to create a new message.
 */
export const SendInputResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 14);
/**
 * Describes the message process.StreamInputRequest.
 * Use `create(StreamInputRequestSchema)` to create a new message.
 */
export const StreamInputRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 15);
/**
 * Describes the message process.StreamInputRequest.StartEvent.
 * Use `create(StreamInputRequest_StartEventSchema)` to create a new message.
 */
export const StreamInputRequest_StartEventSchema = /*@__PURE__*/ messageDesc(file_process_process, 15, 0);
/**
 * Describes the message process.StreamInputRequest.DataEvent.
 * Use `create(StreamInputRequest_DataEventSchema)` to create a new message.
 */
export const StreamInputRequest_DataEventSchema = /*@__PURE__*/ messageDesc(file_process_process, 15, 1);
/**
 * Describes the message process.StreamInputRequest.KeepAlive.
 * Use `create(StreamInputRequest_KeepAliveSchema)` to create a new message.
 */
export const StreamInputRequest_KeepAliveSchema = /*@__PURE__*/ messageDesc(file_process_process, 15, 2);
/**
 * Describes the message process.StreamInputResponse.
 * Use `create(StreamInputResponseSchema)` to create a new message.
 */
export const StreamInputResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 16);
/**
 * Describes the message process.SendSignalRequest.
 * Use `create(SendSignalRequestSchema)` to create a new message.
 */
export const SendSignalRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 17);
/**
 * Describes the message process.SendSignalResponse.
 * Use `create(SendSignalResponseSchema)` to create a new message.
 */
export const SendSignalResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 18);
/**
 * Describes the message process.CloseStdinRequest.
 * Use `create(CloseStdinRequestSchema)` to create a new message.
 */
export const CloseStdinRequestSchema = /*@__PURE__*/ messageDesc(file_process_process, 19);
/**
 * Describes the message process.CloseStdinResponse.
 * Use `create(CloseStdinResponseSchema)` to create a new message.
 */
export const CloseStdinResponseSchema = /*@__PURE__*/ messageDesc(file_process_process, 20);
/**
 * Describes the message process.ProcessSelector.
 * Use `create(ProcessSelectorSchema)` to create a new message.
 */
export const ProcessSelectorSchema = /*@__PURE__*/ messageDesc(file_process_process, 21);
/**
 * @generated from enum process.Signal
 */
export var Signal;
(function (Signal) {
    /**
     * @generated from enum value: SIGNAL_UNSPECIFIED = 0;
     */
    Signal[Signal["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * @generated from enum value: SIGNAL_SIGKILL = 9;
     */
    Signal[Signal["SIGKILL"] = 9] = "SIGKILL";
    /**
     * @generated from enum value: SIGNAL_SIGTERM = 15;
     */
    Signal[Signal["SIGTERM"] = 15] = "SIGTERM";
})(Signal || (Signal = {}));
/**
 * Describes the enum process.Signal.
 */
export const SignalSchema = /*@__PURE__*/ enumDesc(file_process_process, 0);
/**
 * @generated from service process.Process
 */
export const Process = /*@__PURE__*/ serviceDesc(file_process_process, 0);
