import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file process/process.proto.
 */
export declare const file_process_process: GenFile;
/**
 * @generated from message process.PTY
 */
export type PTY = Message<"process.PTY"> & {
    /**
     * @generated from field: process.PTY.Size size = 1;
     */
    size?: PTY_Size | undefined;
};
/**
 * Describes the message process.PTY.
 * Use `create(PTYSchema)` to create a new message.
 */
export declare const PTYSchema: GenMessage<PTY>;
/**
 * @generated from message process.PTY.Size
 */
export type PTY_Size = Message<"process.PTY.Size"> & {
    /**
     * @generated from field: uint32 cols = 1;
     */
    cols: number;
    /**
     * @generated from field: uint32 rows = 2;
     */
    rows: number;
};
/**
 * Describes the message process.PTY.Size.
 * Use `create(PTY_SizeSchema)` to create a new message.
 */
export declare const PTY_SizeSchema: GenMessage<PTY_Size>;
/**
 * @generated from message process.ProcessConfig
 */
export type ProcessConfig = Message<"process.ProcessConfig"> & {
    /**
     * @generated from field: string cmd = 1;
     */
    cmd: string;
    /**
     * @generated from field: repeated string args = 2;
     */
    args: string[];
    /**
     * @generated from field: map<string, string> envs = 3;
     */
    envs: {
        [key: string]: string;
    };
    /**
     * @generated from field: optional string cwd = 4;
     */
    cwd?: string | undefined;
};
/**
 * Describes the message process.ProcessConfig.
 * Use `create(ProcessConfigSchema)` to create a new message.
 */
export declare const ProcessConfigSchema: GenMessage<ProcessConfig>;
/**
 * @generated from message process.ProcessInfo
 */
export type ProcessInfo = Message<"process.ProcessInfo"> & {
    /**
     * @generated from field: process.ProcessConfig config = 1;
     */
    config?: ProcessConfig | undefined;
    /**
     * @generated from field: uint32 pid = 2;
     */
    pid: number;
    /**
     * @generated from field: optional string tag = 3;
     */
    tag?: string | undefined;
};
/**
 * Describes the message process.ProcessInfo.
 * Use `create(ProcessInfoSchema)` to create a new message.
 */
export declare const ProcessInfoSchema: GenMessage<ProcessInfo>;
/**
 * @generated from message process.ListRequest
 */
export type ListRequest = Message<"process.ListRequest"> & {};
/**
 * Describes the message process.ListRequest.
 * Use `create(ListRequestSchema)` to create a new message.
 */
export declare const ListRequestSchema: GenMessage<ListRequest>;
/**
 * @generated from message process.ListResponse
 */
export type ListResponse = Message<"process.ListResponse"> & {
    /**
     * @generated from field: repeated process.ProcessInfo processes = 1;
     */
    processes: ProcessInfo[];
};
/**
 * Describes the message process.ListResponse.
 * Use `create(ListResponseSchema)` to create a new message.
 */
export declare const ListResponseSchema: GenMessage<ListResponse>;
/**
 * @generated from message process.StartRequest
 */
export type StartRequest = Message<"process.StartRequest"> & {
    /**
     * @generated from field: process.ProcessConfig process = 1;
     */
    process?: ProcessConfig | undefined;
    /**
     * @generated from field: optional process.PTY pty = 2;
     */
    pty?: PTY | undefined;
    /**
     * @generated from field: optional string tag = 3;
     */
    tag?: string | undefined;
    /**
     * Absent or true: a pipe that stays open. False: nothing to read.
     *
     * @generated from field: optional bool stdin = 4;
     */
    stdin?: boolean | undefined;
};
/**
 * Describes the message process.StartRequest.
 * Use `create(StartRequestSchema)` to create a new message.
 */
export declare const StartRequestSchema: GenMessage<StartRequest>;
/**
 * @generated from message process.StartResponse
 */
export type StartResponse = Message<"process.StartResponse"> & {
    /**
     * @generated from field: process.ProcessEvent event = 1;
     */
    event?: ProcessEvent | undefined;
};
/**
 * Describes the message process.StartResponse.
 * Use `create(StartResponseSchema)` to create a new message.
 */
export declare const StartResponseSchema: GenMessage<StartResponse>;
/**
 * @generated from message process.ConnectRequest
 */
export type ConnectRequest = Message<"process.ConnectRequest"> & {
    /**
     * @generated from field: process.ProcessSelector process = 1;
     */
    process?: ProcessSelector | undefined;
};
/**
 * Describes the message process.ConnectRequest.
 * Use `create(ConnectRequestSchema)` to create a new message.
 */
export declare const ConnectRequestSchema: GenMessage<ConnectRequest>;
/**
 * @generated from message process.ConnectResponse
 */
export type ConnectResponse = Message<"process.ConnectResponse"> & {
    /**
     * @generated from field: process.ProcessEvent event = 1;
     */
    event?: ProcessEvent | undefined;
};
/**
 * Describes the message process.ConnectResponse.
 * Use `create(ConnectResponseSchema)` to create a new message.
 */
export declare const ConnectResponseSchema: GenMessage<ConnectResponse>;
/**
 * @generated from message process.UpdateRequest
 */
export type UpdateRequest = Message<"process.UpdateRequest"> & {
    /**
     * @generated from field: process.ProcessSelector process = 1;
     */
    process?: ProcessSelector | undefined;
    /**
     * @generated from field: optional process.PTY pty = 2;
     */
    pty?: PTY | undefined;
};
/**
 * Describes the message process.UpdateRequest.
 * Use `create(UpdateRequestSchema)` to create a new message.
 */
export declare const UpdateRequestSchema: GenMessage<UpdateRequest>;
/**
 * @generated from message process.UpdateResponse
 */
export type UpdateResponse = Message<"process.UpdateResponse"> & {};
/**
 * Describes the message process.UpdateResponse.
 * Use `create(UpdateResponseSchema)` to create a new message.
 */
export declare const UpdateResponseSchema: GenMessage<UpdateResponse>;
/**
 * @generated from message process.ProcessEvent
 */
export type ProcessEvent = Message<"process.ProcessEvent"> & {
    /**
     * @generated from oneof process.ProcessEvent.event
     */
    event: {
        /**
         * @generated from field: process.ProcessEvent.StartEvent start = 1;
         */
        value: ProcessEvent_StartEvent;
        case: "start";
    } | {
        /**
         * @generated from field: process.ProcessEvent.DataEvent data = 2;
         */
        value: ProcessEvent_DataEvent;
        case: "data";
    } | {
        /**
         * @generated from field: process.ProcessEvent.EndEvent end = 3;
         */
        value: ProcessEvent_EndEvent;
        case: "end";
    } | {
        /**
         * @generated from field: process.ProcessEvent.KeepAlive keepalive = 4;
         */
        value: ProcessEvent_KeepAlive;
        case: "keepalive";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message process.ProcessEvent.
 * Use `create(ProcessEventSchema)` to create a new message.
 */
export declare const ProcessEventSchema: GenMessage<ProcessEvent>;
/**
 * @generated from message process.ProcessEvent.StartEvent
 */
export type ProcessEvent_StartEvent = Message<"process.ProcessEvent.StartEvent"> & {
    /**
     * @generated from field: uint32 pid = 1;
     */
    pid: number;
};
/**
 * Describes the message process.ProcessEvent.StartEvent.
 * Use `create(ProcessEvent_StartEventSchema)` to create a new message.
 */
export declare const ProcessEvent_StartEventSchema: GenMessage<ProcessEvent_StartEvent>;
/**
 * @generated from message process.ProcessEvent.DataEvent
 */
export type ProcessEvent_DataEvent = Message<"process.ProcessEvent.DataEvent"> & {
    /**
     * @generated from oneof process.ProcessEvent.DataEvent.output
     */
    output: {
        /**
         * @generated from field: bytes stdout = 1;
         */
        value: Uint8Array;
        case: "stdout";
    } | {
        /**
         * @generated from field: bytes stderr = 2;
         */
        value: Uint8Array;
        case: "stderr";
    } | {
        /**
         * @generated from field: bytes pty = 3;
         */
        value: Uint8Array;
        case: "pty";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message process.ProcessEvent.DataEvent.
 * Use `create(ProcessEvent_DataEventSchema)` to create a new message.
 */
export declare const ProcessEvent_DataEventSchema: GenMessage<ProcessEvent_DataEvent>;
/**
 * @generated from message process.ProcessEvent.EndEvent
 */
export type ProcessEvent_EndEvent = Message<"process.ProcessEvent.EndEvent"> & {
    /**
     * @generated from field: sint32 exit_code = 1;
     */
    exitCode: number;
    /**
     * @generated from field: bool exited = 2;
     */
    exited: boolean;
    /**
     * @generated from field: string status = 3;
     */
    status: string;
    /**
     * @generated from field: optional string error = 4;
     */
    error?: string | undefined;
};
/**
 * Describes the message process.ProcessEvent.EndEvent.
 * Use `create(ProcessEvent_EndEventSchema)` to create a new message.
 */
export declare const ProcessEvent_EndEventSchema: GenMessage<ProcessEvent_EndEvent>;
/**
 * @generated from message process.ProcessEvent.KeepAlive
 */
export type ProcessEvent_KeepAlive = Message<"process.ProcessEvent.KeepAlive"> & {};
/**
 * Describes the message process.ProcessEvent.KeepAlive.
 * Use `create(ProcessEvent_KeepAliveSchema)` to create a new message.
 */
export declare const ProcessEvent_KeepAliveSchema: GenMessage<ProcessEvent_KeepAlive>;
/**
 * @generated from message process.ProcessInput
 */
export type ProcessInput = Message<"process.ProcessInput"> & {
    /**
     * @generated from oneof process.ProcessInput.input
     */
    input: {
        /**
         * @generated from field: bytes stdin = 1;
         */
        value: Uint8Array;
        case: "stdin";
    } | {
        /**
         * @generated from field: bytes pty = 2;
         */
        value: Uint8Array;
        case: "pty";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message process.ProcessInput.
 * Use `create(ProcessInputSchema)` to create a new message.
 */
export declare const ProcessInputSchema: GenMessage<ProcessInput>;
/**
 * @generated from message process.SendInputRequest
 */
export type SendInputRequest = Message<"process.SendInputRequest"> & {
    /**
     * @generated from field: process.ProcessSelector process = 1;
     */
    process?: ProcessSelector | undefined;
    /**
     * @generated from field: process.ProcessInput input = 2;
     */
    input?: ProcessInput | undefined;
};
/**
 * Describes the message process.SendInputRequest.
 * Use `create(SendInputRequestSchema)` to create a new message.
 */
export declare const SendInputRequestSchema: GenMessage<SendInputRequest>;
/**
 * @generated from message process.SendInputResponse
 */
export type SendInputResponse = Message<"process.SendInputResponse"> & {};
/**
 * Describes the message process.SendInputResponse.
 * Use `create(SendInputResponseSchema)` to create a new message.
 */
export declare const SendInputResponseSchema: GenMessage<SendInputResponse>;
/**
 * @generated from message process.StreamInputRequest
 */
export type StreamInputRequest = Message<"process.StreamInputRequest"> & {
    /**
     * @generated from oneof process.StreamInputRequest.event
     */
    event: {
        /**
         * @generated from field: process.StreamInputRequest.StartEvent start = 1;
         */
        value: StreamInputRequest_StartEvent;
        case: "start";
    } | {
        /**
         * @generated from field: process.StreamInputRequest.DataEvent data = 2;
         */
        value: StreamInputRequest_DataEvent;
        case: "data";
    } | {
        /**
         * @generated from field: process.StreamInputRequest.KeepAlive keepalive = 3;
         */
        value: StreamInputRequest_KeepAlive;
        case: "keepalive";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message process.StreamInputRequest.
 * Use `create(StreamInputRequestSchema)` to create a new message.
 */
export declare const StreamInputRequestSchema: GenMessage<StreamInputRequest>;
/**
 * @generated from message process.StreamInputRequest.StartEvent
 */
export type StreamInputRequest_StartEvent = Message<"process.StreamInputRequest.StartEvent"> & {
    /**
     * @generated from field: process.ProcessSelector process = 1;
     */
    process?: ProcessSelector | undefined;
};
/**
 * Describes the message process.StreamInputRequest.StartEvent.
 * Use `create(StreamInputRequest_StartEventSchema)` to create a new message.
 */
export declare const StreamInputRequest_StartEventSchema: GenMessage<StreamInputRequest_StartEvent>;
/**
 * @generated from message process.StreamInputRequest.DataEvent
 */
export type StreamInputRequest_DataEvent = Message<"process.StreamInputRequest.DataEvent"> & {
    /**
     * @generated from field: process.ProcessInput input = 2;
     */
    input?: ProcessInput | undefined;
};
/**
 * Describes the message process.StreamInputRequest.DataEvent.
 * Use `create(StreamInputRequest_DataEventSchema)` to create a new message.
 */
export declare const StreamInputRequest_DataEventSchema: GenMessage<StreamInputRequest_DataEvent>;
/**
 * @generated from message process.StreamInputRequest.KeepAlive
 */
export type StreamInputRequest_KeepAlive = Message<"process.StreamInputRequest.KeepAlive"> & {};
/**
 * Describes the message process.StreamInputRequest.KeepAlive.
 * Use `create(StreamInputRequest_KeepAliveSchema)` to create a new message.
 */
export declare const StreamInputRequest_KeepAliveSchema: GenMessage<StreamInputRequest_KeepAlive>;
/**
 * @generated from message process.StreamInputResponse
 */
export type StreamInputResponse = Message<"process.StreamInputResponse"> & {};
/**
 * Describes the message process.StreamInputResponse.
 * Use `create(StreamInputResponseSchema)` to create a new message.
 */
export declare const StreamInputResponseSchema: GenMessage<StreamInputResponse>;
/**
 * @generated from message process.SendSignalRequest
 */
export type SendSignalRequest = Message<"process.SendSignalRequest"> & {
    /**
     * @generated from field: process.ProcessSelector process = 1;
     */
    process?: ProcessSelector | undefined;
    /**
     * @generated from field: process.Signal signal = 2;
     */
    signal: Signal;
};
/**
 * Describes the message process.SendSignalRequest.
 * Use `create(SendSignalRequestSchema)` to create a new message.
 */
export declare const SendSignalRequestSchema: GenMessage<SendSignalRequest>;
/**
 * @generated from message process.SendSignalResponse
 */
export type SendSignalResponse = Message<"process.SendSignalResponse"> & {};
/**
 * Describes the message process.SendSignalResponse.
 * Use `create(SendSignalResponseSchema)` to create a new message.
 */
export declare const SendSignalResponseSchema: GenMessage<SendSignalResponse>;
/**
 * @generated from message process.CloseStdinRequest
 */
export type CloseStdinRequest = Message<"process.CloseStdinRequest"> & {
    /**
     * @generated from field: process.ProcessSelector process = 1;
     */
    process?: ProcessSelector | undefined;
};
/**
 * Describes the message process.CloseStdinRequest.
 * Use `create(CloseStdinRequestSchema)` to create a new message.
 */
export declare const CloseStdinRequestSchema: GenMessage<CloseStdinRequest>;
/**
 * @generated from message process.CloseStdinResponse
 */
export type CloseStdinResponse = Message<"process.CloseStdinResponse"> & {};
/**
 * Describes the message process.CloseStdinResponse.
 * Use `create(CloseStdinResponseSchema)` to create a new message.
 */
export declare const CloseStdinResponseSchema: GenMessage<CloseStdinResponse>;
/**
 * @generated from message process.ProcessSelector
 */
export type ProcessSelector = Message<"process.ProcessSelector"> & {
    /**
     * @generated from oneof process.ProcessSelector.selector
     */
    selector: {
        /**
         * @generated from field: uint32 pid = 1;
         */
        value: number;
        case: "pid";
    } | {
        /**
         * @generated from field: string tag = 2;
         */
        value: string;
        case: "tag";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message process.ProcessSelector.
 * Use `create(ProcessSelectorSchema)` to create a new message.
 */
export declare const ProcessSelectorSchema: GenMessage<ProcessSelector>;
/**
 * @generated from enum process.Signal
 */
export declare enum Signal {
    /**
     * @generated from enum value: SIGNAL_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * @generated from enum value: SIGNAL_SIGKILL = 9;
     */
    SIGKILL = 9,
    /**
     * @generated from enum value: SIGNAL_SIGTERM = 15;
     */
    SIGTERM = 15
}
/**
 * Describes the enum process.Signal.
 */
export declare const SignalSchema: GenEnum<Signal>;
/**
 * @generated from service process.Process
 */
export declare const Process: GenService<{
    /**
     * @generated from rpc process.Process.List
     */
    list: {
        methodKind: "unary";
        input: typeof ListRequestSchema;
        output: typeof ListResponseSchema;
    };
    /**
     * Re-attaches to a running process. What no subscriber has received yet is replayed first.
     *
     * @generated from rpc process.Process.Connect
     */
    connect: {
        methodKind: "server_streaming";
        input: typeof ConnectRequestSchema;
        output: typeof ConnectResponseSchema;
    };
    /**
     * @generated from rpc process.Process.Start
     */
    start: {
        methodKind: "server_streaming";
        input: typeof StartRequestSchema;
        output: typeof StartResponseSchema;
    };
    /**
     * @generated from rpc process.Process.Update
     */
    update: {
        methodKind: "unary";
        input: typeof UpdateRequestSchema;
        output: typeof UpdateResponseSchema;
    };
    /**
     * @generated from rpc process.Process.StreamInput
     */
    streamInput: {
        methodKind: "client_streaming";
        input: typeof StreamInputRequestSchema;
        output: typeof StreamInputResponseSchema;
    };
    /**
     * @generated from rpc process.Process.SendInput
     */
    sendInput: {
        methodKind: "unary";
        input: typeof SendInputRequestSchema;
        output: typeof SendInputResponseSchema;
    };
    /**
     * @generated from rpc process.Process.SendSignal
     */
    sendSignal: {
        methodKind: "unary";
        input: typeof SendSignalRequestSchema;
        output: typeof SendSignalResponseSchema;
    };
    /**
     * @generated from rpc process.Process.CloseStdin
     */
    closeStdin: {
        methodKind: "unary";
        input: typeof CloseStdinRequestSchema;
        output: typeof CloseStdinResponseSchema;
    };
}>;
