import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file filesystem/filesystem.proto.
 */
export declare const file_filesystem_filesystem: GenFile;
/**
 * @generated from message filesystem.StatRequest
 */
export type StatRequest = Message<"filesystem.StatRequest"> & {
    /**
     * @generated from field: string path = 1;
     */
    path: string;
};
/**
 * Describes the message filesystem.StatRequest.
 * Use `create(StatRequestSchema)` to create a new message.
 */
export declare const StatRequestSchema: GenMessage<StatRequest>;
/**
 * @generated from message filesystem.StatResponse
 */
export type StatResponse = Message<"filesystem.StatResponse"> & {
    /**
     * @generated from field: filesystem.EntryInfo entry = 1;
     */
    entry?: EntryInfo | undefined;
};
/**
 * Describes the message filesystem.StatResponse.
 * Use `create(StatResponseSchema)` to create a new message.
 */
export declare const StatResponseSchema: GenMessage<StatResponse>;
/**
 * @generated from message filesystem.MakeDirRequest
 */
export type MakeDirRequest = Message<"filesystem.MakeDirRequest"> & {
    /**
     * @generated from field: string path = 1;
     */
    path: string;
};
/**
 * Describes the message filesystem.MakeDirRequest.
 * Use `create(MakeDirRequestSchema)` to create a new message.
 */
export declare const MakeDirRequestSchema: GenMessage<MakeDirRequest>;
/**
 * @generated from message filesystem.MakeDirResponse
 */
export type MakeDirResponse = Message<"filesystem.MakeDirResponse"> & {
    /**
     * @generated from field: filesystem.EntryInfo entry = 1;
     */
    entry?: EntryInfo | undefined;
};
/**
 * Describes the message filesystem.MakeDirResponse.
 * Use `create(MakeDirResponseSchema)` to create a new message.
 */
export declare const MakeDirResponseSchema: GenMessage<MakeDirResponse>;
/**
 * @generated from message filesystem.MoveRequest
 */
export type MoveRequest = Message<"filesystem.MoveRequest"> & {
    /**
     * @generated from field: string source = 1;
     */
    source: string;
    /**
     * @generated from field: string destination = 2;
     */
    destination: string;
};
/**
 * Describes the message filesystem.MoveRequest.
 * Use `create(MoveRequestSchema)` to create a new message.
 */
export declare const MoveRequestSchema: GenMessage<MoveRequest>;
/**
 * @generated from message filesystem.MoveResponse
 */
export type MoveResponse = Message<"filesystem.MoveResponse"> & {
    /**
     * @generated from field: filesystem.EntryInfo entry = 1;
     */
    entry?: EntryInfo | undefined;
};
/**
 * Describes the message filesystem.MoveResponse.
 * Use `create(MoveResponseSchema)` to create a new message.
 */
export declare const MoveResponseSchema: GenMessage<MoveResponse>;
/**
 * @generated from message filesystem.ListDirRequest
 */
export type ListDirRequest = Message<"filesystem.ListDirRequest"> & {
    /**
     * @generated from field: string path = 1;
     */
    path: string;
    /**
     * @generated from field: uint32 depth = 2;
     */
    depth: number;
};
/**
 * Describes the message filesystem.ListDirRequest.
 * Use `create(ListDirRequestSchema)` to create a new message.
 */
export declare const ListDirRequestSchema: GenMessage<ListDirRequest>;
/**
 * @generated from message filesystem.ListDirResponse
 */
export type ListDirResponse = Message<"filesystem.ListDirResponse"> & {
    /**
     * @generated from field: repeated filesystem.EntryInfo entries = 1;
     */
    entries: EntryInfo[];
};
/**
 * Describes the message filesystem.ListDirResponse.
 * Use `create(ListDirResponseSchema)` to create a new message.
 */
export declare const ListDirResponseSchema: GenMessage<ListDirResponse>;
/**
 * @generated from message filesystem.RemoveRequest
 */
export type RemoveRequest = Message<"filesystem.RemoveRequest"> & {
    /**
     * @generated from field: string path = 1;
     */
    path: string;
};
/**
 * Describes the message filesystem.RemoveRequest.
 * Use `create(RemoveRequestSchema)` to create a new message.
 */
export declare const RemoveRequestSchema: GenMessage<RemoveRequest>;
/**
 * @generated from message filesystem.RemoveResponse
 */
export type RemoveResponse = Message<"filesystem.RemoveResponse"> & {};
/**
 * Describes the message filesystem.RemoveResponse.
 * Use `create(RemoveResponseSchema)` to create a new message.
 */
export declare const RemoveResponseSchema: GenMessage<RemoveResponse>;
/**
 * @generated from message filesystem.WatchDirRequest
 */
export type WatchDirRequest = Message<"filesystem.WatchDirRequest"> & {
    /**
     * @generated from field: string path = 1;
     */
    path: string;
    /**
     * @generated from field: bool recursive = 2;
     */
    recursive: boolean;
    /**
     * @generated from field: bool include_entry = 3;
     */
    includeEntry: boolean;
    /**
     * @generated from field: bool allow_network_mounts = 4;
     */
    allowNetworkMounts: boolean;
};
/**
 * Describes the message filesystem.WatchDirRequest.
 * Use `create(WatchDirRequestSchema)` to create a new message.
 */
export declare const WatchDirRequestSchema: GenMessage<WatchDirRequest>;
/**
 * @generated from message filesystem.WatchDirResponse
 */
export type WatchDirResponse = Message<"filesystem.WatchDirResponse"> & {
    /**
     * @generated from oneof filesystem.WatchDirResponse.event
     */
    event: {
        /**
         * @generated from field: filesystem.WatchDirResponse.StartEvent start = 1;
         */
        value: WatchDirResponse_StartEvent;
        case: "start";
    } | {
        /**
         * @generated from field: filesystem.FilesystemEvent filesystem = 2;
         */
        value: FilesystemEvent;
        case: "filesystem";
    } | {
        /**
         * @generated from field: filesystem.WatchDirResponse.KeepAlive keepalive = 3;
         */
        value: WatchDirResponse_KeepAlive;
        case: "keepalive";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message filesystem.WatchDirResponse.
 * Use `create(WatchDirResponseSchema)` to create a new message.
 */
export declare const WatchDirResponseSchema: GenMessage<WatchDirResponse>;
/**
 * @generated from message filesystem.WatchDirResponse.StartEvent
 */
export type WatchDirResponse_StartEvent = Message<"filesystem.WatchDirResponse.StartEvent"> & {};
/**
 * Describes the message filesystem.WatchDirResponse.StartEvent.
 * Use `create(WatchDirResponse_StartEventSchema)` to create a new message.
 */
export declare const WatchDirResponse_StartEventSchema: GenMessage<WatchDirResponse_StartEvent>;
/**
 * @generated from message filesystem.WatchDirResponse.KeepAlive
 */
export type WatchDirResponse_KeepAlive = Message<"filesystem.WatchDirResponse.KeepAlive"> & {};
/**
 * Describes the message filesystem.WatchDirResponse.KeepAlive.
 * Use `create(WatchDirResponse_KeepAliveSchema)` to create a new message.
 */
export declare const WatchDirResponse_KeepAliveSchema: GenMessage<WatchDirResponse_KeepAlive>;
/**
 * @generated from message filesystem.CreateWatcherRequest
 */
export type CreateWatcherRequest = Message<"filesystem.CreateWatcherRequest"> & {
    /**
     * @generated from field: string path = 1;
     */
    path: string;
    /**
     * @generated from field: bool recursive = 2;
     */
    recursive: boolean;
    /**
     * @generated from field: bool include_entry = 3;
     */
    includeEntry: boolean;
    /**
     * @generated from field: bool allow_network_mounts = 4;
     */
    allowNetworkMounts: boolean;
};
/**
 * Describes the message filesystem.CreateWatcherRequest.
 * Use `create(CreateWatcherRequestSchema)` to create a new message.
 */
export declare const CreateWatcherRequestSchema: GenMessage<CreateWatcherRequest>;
/**
 * @generated from message filesystem.CreateWatcherResponse
 */
export type CreateWatcherResponse = Message<"filesystem.CreateWatcherResponse"> & {
    /**
     * @generated from field: string watcher_id = 1;
     */
    watcherId: string;
};
/**
 * Describes the message filesystem.CreateWatcherResponse.
 * Use `create(CreateWatcherResponseSchema)` to create a new message.
 */
export declare const CreateWatcherResponseSchema: GenMessage<CreateWatcherResponse>;
/**
 * @generated from message filesystem.GetWatcherEventsRequest
 */
export type GetWatcherEventsRequest = Message<"filesystem.GetWatcherEventsRequest"> & {
    /**
     * @generated from field: string watcher_id = 1;
     */
    watcherId: string;
};
/**
 * Describes the message filesystem.GetWatcherEventsRequest.
 * Use `create(GetWatcherEventsRequestSchema)` to create a new message.
 */
export declare const GetWatcherEventsRequestSchema: GenMessage<GetWatcherEventsRequest>;
/**
 * @generated from message filesystem.GetWatcherEventsResponse
 */
export type GetWatcherEventsResponse = Message<"filesystem.GetWatcherEventsResponse"> & {
    /**
     * @generated from field: repeated filesystem.FilesystemEvent events = 1;
     */
    events: FilesystemEvent[];
};
/**
 * Describes the message filesystem.GetWatcherEventsResponse.
 * Use `create(GetWatcherEventsResponseSchema)` to create a new message.
 */
export declare const GetWatcherEventsResponseSchema: GenMessage<GetWatcherEventsResponse>;
/**
 * @generated from message filesystem.RemoveWatcherRequest
 */
export type RemoveWatcherRequest = Message<"filesystem.RemoveWatcherRequest"> & {
    /**
     * @generated from field: string watcher_id = 1;
     */
    watcherId: string;
};
/**
 * Describes the message filesystem.RemoveWatcherRequest.
 * Use `create(RemoveWatcherRequestSchema)` to create a new message.
 */
export declare const RemoveWatcherRequestSchema: GenMessage<RemoveWatcherRequest>;
/**
 * @generated from message filesystem.RemoveWatcherResponse
 */
export type RemoveWatcherResponse = Message<"filesystem.RemoveWatcherResponse"> & {};
/**
 * Describes the message filesystem.RemoveWatcherResponse.
 * Use `create(RemoveWatcherResponseSchema)` to create a new message.
 */
export declare const RemoveWatcherResponseSchema: GenMessage<RemoveWatcherResponse>;
/**
 * @generated from message filesystem.EntryInfo
 */
export type EntryInfo = Message<"filesystem.EntryInfo"> & {
    /**
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * @generated from field: filesystem.FileType type = 2;
     */
    type: FileType;
    /**
     * @generated from field: string path = 3;
     */
    path: string;
    /**
     * @generated from field: int64 size = 4;
     */
    size: bigint;
    /**
     * @generated from field: uint32 mode = 5;
     */
    mode: number;
    /**
     * @generated from field: string permissions = 6;
     */
    permissions: string;
    /**
     * @generated from field: string owner = 7;
     */
    owner: string;
    /**
     * @generated from field: string group = 8;
     */
    group: string;
    /**
     * @generated from field: google.protobuf.Timestamp modified_time = 9;
     */
    modifiedTime?: Timestamp | undefined;
    /**
     * @generated from field: optional string symlink_target = 10;
     */
    symlinkTarget?: string | undefined;
    /**
     * @generated from field: map<string, string> metadata = 11;
     */
    metadata: {
        [key: string]: string;
    };
    /**
     * @generated from field: bool is_symlink = 12;
     */
    isSymlink: boolean;
};
/**
 * Describes the message filesystem.EntryInfo.
 * Use `create(EntryInfoSchema)` to create a new message.
 */
export declare const EntryInfoSchema: GenMessage<EntryInfo>;
/**
 * @generated from message filesystem.FilesystemEvent
 */
export type FilesystemEvent = Message<"filesystem.FilesystemEvent"> & {
    /**
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * @generated from field: filesystem.EventType type = 2;
     */
    type: EventType;
    /**
     * @generated from field: optional filesystem.EntryInfo entry = 3;
     */
    entry?: EntryInfo | undefined;
};
/**
 * Describes the message filesystem.FilesystemEvent.
 * Use `create(FilesystemEventSchema)` to create a new message.
 */
export declare const FilesystemEventSchema: GenMessage<FilesystemEvent>;
/**
 * @generated from enum filesystem.FileType
 */
export declare enum FileType {
    /**
     * @generated from enum value: FILE_TYPE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * @generated from enum value: FILE_TYPE_FILE = 1;
     */
    FILE = 1,
    /**
     * @generated from enum value: FILE_TYPE_DIRECTORY = 2;
     */
    DIRECTORY = 2,
    /**
     * @generated from enum value: FILE_TYPE_SYMLINK = 3;
     */
    SYMLINK = 3
}
/**
 * Describes the enum filesystem.FileType.
 */
export declare const FileTypeSchema: GenEnum<FileType>;
/**
 * @generated from enum filesystem.EventType
 */
export declare enum EventType {
    /**
     * @generated from enum value: EVENT_TYPE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * @generated from enum value: EVENT_TYPE_CREATE = 1;
     */
    CREATE = 1,
    /**
     * @generated from enum value: EVENT_TYPE_WRITE = 2;
     */
    WRITE = 2,
    /**
     * @generated from enum value: EVENT_TYPE_REMOVE = 3;
     */
    REMOVE = 3,
    /**
     * @generated from enum value: EVENT_TYPE_RENAME = 4;
     */
    RENAME = 4,
    /**
     * @generated from enum value: EVENT_TYPE_CHMOD = 5;
     */
    CHMOD = 5
}
/**
 * Describes the enum filesystem.EventType.
 */
export declare const EventTypeSchema: GenEnum<EventType>;
/**
 * @generated from service filesystem.Filesystem
 */
export declare const Filesystem: GenService<{
    /**
     * @generated from rpc filesystem.Filesystem.Stat
     */
    stat: {
        methodKind: "unary";
        input: typeof StatRequestSchema;
        output: typeof StatResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.MakeDir
     */
    makeDir: {
        methodKind: "unary";
        input: typeof MakeDirRequestSchema;
        output: typeof MakeDirResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.Move
     */
    move: {
        methodKind: "unary";
        input: typeof MoveRequestSchema;
        output: typeof MoveResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.ListDir
     */
    listDir: {
        methodKind: "unary";
        input: typeof ListDirRequestSchema;
        output: typeof ListDirResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.Remove
     */
    remove: {
        methodKind: "unary";
        input: typeof RemoveRequestSchema;
        output: typeof RemoveResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.WatchDir
     */
    watchDir: {
        methodKind: "server_streaming";
        input: typeof WatchDirRequestSchema;
        output: typeof WatchDirResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.CreateWatcher
     */
    createWatcher: {
        methodKind: "unary";
        input: typeof CreateWatcherRequestSchema;
        output: typeof CreateWatcherResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.GetWatcherEvents
     */
    getWatcherEvents: {
        methodKind: "unary";
        input: typeof GetWatcherEventsRequestSchema;
        output: typeof GetWatcherEventsResponseSchema;
    };
    /**
     * @generated from rpc filesystem.Filesystem.RemoveWatcher
     */
    removeWatcher: {
        methodKind: "unary";
        input: typeof RemoveWatcherRequestSchema;
        output: typeof RemoveWatcherResponseSchema;
    };
}>;
