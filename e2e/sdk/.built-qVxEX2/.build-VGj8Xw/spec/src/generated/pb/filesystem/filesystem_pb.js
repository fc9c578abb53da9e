// The file system service of the in-sandbox agent. Field numbers and names are the wire that public clients speak (contract/wire.md 4.4).
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
/**
 * Describes the file filesystem/filesystem.proto.
 */
export const file_filesystem_filesystem = /*@__PURE__*/ fileDesc("ChtmaWxlc3lzdGVtL2ZpbGVzeXN0ZW0ucHJvdG8SCmZpbGVzeXN0ZW0iGwoLU3RhdFJlcXVlc3QSDAoEcGF0aBgBIAEoCSI0CgxTdGF0UmVzcG9uc2USJAoFZW50cnkYASABKAsyFS5maWxlc3lzdGVtLkVudHJ5SW5mbyIeCg5NYWtlRGlyUmVxdWVzdBIMCgRwYXRoGAEgASgJIjcKD01ha2VEaXJSZXNwb25zZRIkCgVlbnRyeRgBIAEoCzIVLmZpbGVzeXN0ZW0uRW50cnlJbmZvIjIKC01vdmVSZXF1ZXN0Eg4KBnNvdXJjZRgBIAEoCRITCgtkZXN0aW5hdGlvbhgCIAEoCSI0CgxNb3ZlUmVzcG9uc2USJAoFZW50cnkYASABKAsyFS5maWxlc3lzdGVtLkVudHJ5SW5mbyItCg5MaXN0RGlyUmVxdWVzdBIMCgRwYXRoGAEgASgJEg0KBWRlcHRoGAIgASgNIjkKD0xpc3REaXJSZXNwb25zZRImCgdlbnRyaWVzGAEgAygLMhUuZmlsZXN5c3RlbS5FbnRyeUluZm8iHQoNUmVtb3ZlUmVxdWVzdBIMCgRwYXRoGAEgASgJIhAKDlJlbW92ZVJlc3BvbnNlImcKD1dhdGNoRGlyUmVxdWVzdBIMCgRwYXRoGAEgASgJEhEKCXJlY3Vyc2l2ZRgCIAEoCBIVCg1pbmNsdWRlX2VudHJ5GAMgASgIEhwKFGFsbG93X25ldHdvcmtfbW91bnRzGAQgASgIIuABChBXYXRjaERpclJlc3BvbnNlEjgKBXN0YXJ0GAEgASgLMicuZmlsZXN5c3RlbS5XYXRjaERpclJlc3BvbnNlLlN0YXJ0RXZlbnRIABIxCgpmaWxlc3lzdGVtGAIgASgLMhsuZmlsZXN5c3RlbS5GaWxlc3lzdGVtRXZlbnRIABI7CglrZWVwYWxpdmUYAyABKAsyJi5maWxlc3lzdGVtLldhdGNoRGlyUmVzcG9uc2UuS2VlcEFsaXZlSAAaDAoKU3RhcnRFdmVudBoLCglLZWVwQWxpdmVCBwoFZXZlbnQibAoUQ3JlYXRlV2F0Y2hlclJlcXVlc3QSDAoEcGF0aBgBIAEoCRIRCglyZWN1cnNpdmUYAiABKAgSFQoNaW5jbHVkZV9lbnRyeRgDIAEoCBIcChRhbGxvd19uZXR3b3JrX21vdW50cxgEIAEoCCIrChVDcmVhdGVXYXRjaGVyUmVzcG9uc2USEgoKd2F0Y2hlcl9pZBgBIAEoCSItChdHZXRXYXRjaGVyRXZlbnRzUmVxdWVzdBISCgp3YXRjaGVyX2lkGAEgASgJIkcKGEdldFdhdGNoZXJFdmVudHNSZXNwb25zZRIrCgZldmVudHMYASADKAsyGy5maWxlc3lzdGVtLkZpbGVzeXN0ZW1FdmVudCIqChRSZW1vdmVXYXRjaGVyUmVxdWVzdBISCgp3YXRjaGVyX2lkGAEgASgJIhcKFVJlbW92ZVdhdGNoZXJSZXNwb25zZSL5AgoJRW50cnlJbmZvEgwKBG5hbWUYASABKAkSIgoEdHlwZRgCIAEoDjIULmZpbGVzeXN0ZW0uRmlsZVR5cGUSDAoEcGF0aBgDIAEoCRIMCgRzaXplGAQgASgDEgwKBG1vZGUYBSABKA0SEwoLcGVybWlzc2lvbnMYBiABKAkSDQoFb3duZXIYByABKAkSDQoFZ3JvdXAYCCABKAkSMQoNbW9kaWZpZWRfdGltZRgJIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASGwoOc3ltbGlua190YXJnZXQYCiABKAlIAIgBARI1CghtZXRhZGF0YRgLIAMoCzIjLmZpbGVzeXN0ZW0uRW50cnlJbmZvLk1ldGFkYXRhRW50cnkSEgoKaXNfc3ltbGluaxgMIAEoCBovCg1NZXRhZGF0YUVudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCEQoPX3N5bWxpbmtfdGFyZ2V0InkKD0ZpbGVzeXN0ZW1FdmVudBIMCgRuYW1lGAEgASgJEiMKBHR5cGUYAiABKA4yFS5maWxlc3lzdGVtLkV2ZW50VHlwZRIpCgVlbnRyeRgDIAEoCzIVLmZpbGVzeXN0ZW0uRW50cnlJbmZvSACIAQFCCAoGX2VudHJ5KmkKCEZpbGVUeXBlEhkKFUZJTEVfVFlQRV9VTlNQRUNJRklFRBAAEhIKDkZJTEVfVFlQRV9GSUxFEAESFwoTRklMRV9UWVBFX0RJUkVDVE9SWRACEhUKEUZJTEVfVFlQRV9TWU1MSU5LEAMqmAEKCUV2ZW50VHlwZRIaChZFVkVOVF9UWVBFX1VOU1BFQ0lGSUVEEAASFQoRRVZFTlRfVFlQRV9DUkVBVEUQARIUChBFVkVOVF9UWVBFX1dSSVRFEAISFQoRRVZFTlRfVFlQRV9SRU1PVkUQAxIVChFFVkVOVF9UWVBFX1JFTkFNRRAEEhQKEEVWRU5UX1RZUEVfQ0hNT0QQBTKfBQoKRmlsZXN5c3RlbRI5CgRTdGF0EhcuZmlsZXN5c3RlbS5TdGF0UmVxdWVzdBoYLmZpbGVzeXN0ZW0uU3RhdFJlc3BvbnNlEkIKB01ha2VEaXISGi5maWxlc3lzdGVtLk1ha2VEaXJSZXF1ZXN0GhsuZmlsZXN5c3RlbS5NYWtlRGlyUmVzcG9uc2USOQoETW92ZRIXLmZpbGVzeXN0ZW0uTW92ZVJlcXVlc3QaGC5maWxlc3lzdGVtLk1vdmVSZXNwb25zZRJCCgdMaXN0RGlyEhouZmlsZXN5c3RlbS5MaXN0RGlyUmVxdWVzdBobLmZpbGVzeXN0ZW0uTGlzdERpclJlc3BvbnNlEj8KBlJlbW92ZRIZLmZpbGVzeXN0ZW0uUmVtb3ZlUmVxdWVzdBoaLmZpbGVzeXN0ZW0uUmVtb3ZlUmVzcG9uc2USRwoIV2F0Y2hEaXISGy5maWxlc3lzdGVtLldhdGNoRGlyUmVxdWVzdBocLmZpbGVzeXN0ZW0uV2F0Y2hEaXJSZXNwb25zZTABElQKDUNyZWF0ZVdhdGNoZXISIC5maWxlc3lzdGVtLkNyZWF0ZVdhdGNoZXJSZXF1ZXN0GiEuZmlsZXN5c3RlbS5DcmVhdGVXYXRjaGVyUmVzcG9uc2USXQoQR2V0V2F0Y2hlckV2ZW50cxIjLmZpbGVzeXN0ZW0uR2V0V2F0Y2hlckV2ZW50c1JlcXVlc3QaJC5maWxlc3lzdGVtLkdldFdhdGNoZXJFdmVudHNSZXNwb25zZRJUCg1SZW1vdmVXYXRjaGVyEiAuZmlsZXN5c3RlbS5SZW1vdmVXYXRjaGVyUmVxdWVzdBohLmZpbGVzeXN0ZW0uUmVtb3ZlV2F0Y2hlclJlc3BvbnNlYgZwcm90bzM", [file_google_protobuf_timestamp]);
/**
 * Describes the message filesystem.StatRequest.
 * Use `create(StatRequestSchema)` to create a new message.
 */
export const StatRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 0);
/**
 * Describes the message filesystem.StatResponse.
 * Use `create(StatResponseSchema)` to create a new message.
 */
export const StatResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 1);
/**
 * Describes the message filesystem.MakeDirRequest.
 * Use `create(MakeDirRequestSchema)` to create a new message.
 */
export const MakeDirRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 2);
/**
 * Describes the message filesystem.MakeDirResponse.
 * Use `create(MakeDirResponseSchema)` to create a new message.
 */
export const MakeDirResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 3);
/**
 * Describes the message filesystem.MoveRequest.
 * Use `create(MoveRequestSchema)` to create a new message.
 */
export const MoveRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 4);
/**
 * Describes the message filesystem.MoveResponse.
 * Use `create(MoveResponseSchema)` to create a new message.
 */
export const MoveResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 5);
/**
 * Describes the message filesystem.ListDirRequest.
 * Use `create(ListDirRequestSchema)` to create a new message.
 */
export const ListDirRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 6);
/**
 * Describes the message filesystem.ListDirResponse.
 * Use `create(ListDirResponseSchema)` to create a new message.
 */
export const ListDirResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 7);
/**
 * Describes the message filesystem.RemoveRequest.
 * Use `create(RemoveRequestSchema)` to create a new message.
 */
export const RemoveRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 8);
/**
 * Describes the message filesystem.RemoveResponse.
 * Use `create(RemoveResponseSchema)` to create a new message.
 */
export const RemoveResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 9);
/**
 * Describes the message filesystem.WatchDirRequest.
 * Use `create(WatchDirRequestSchema)` to create a new message.
 */
export const WatchDirRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 10);
/**
 * Describes the message filesystem.WatchDirResponse.
 * Use `create(WatchDirResponseSchema)` to create a new message.
 */
export const WatchDirResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 11);
/**
 * Describes the message filesystem.WatchDirResponse.StartEvent.
 * Use `create(WatchDirResponse_StartEventSchema)` to create a new message.
 */
export const WatchDirResponse_StartEventSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 11, 0);
/**
 * Describes the message filesystem.WatchDirResponse.KeepAlive.
 * Use `create(WatchDirResponse_KeepAliveSchema)` to create a new message.
 */
export const WatchDirResponse_KeepAliveSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 11, 1);
/**
 * Describes the message filesystem.CreateWatcherRequest.
 * Use `create(CreateWatcherRequestSchema)` to create a new message.
 */
export const CreateWatcherRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 12);
/**
 * Describes the message filesystem.CreateWatcherResponse.
 * Use `create(CreateWatcherResponseSchema)` to create a new message.
 */
export const CreateWatcherResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 13);
/**
 * Describes the message filesystem.GetWatcherEventsRequest.
 * Use `create(GetWatcherEventsRequestSchema)` to create a new message.
 */
export const GetWatcherEventsRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 14);
/**
 * Describes the message filesystem.GetWatcherEventsResponse.
 * Use `create(GetWatcherEventsResponseSchema)` to create a new message.
 */
export const GetWatcherEventsResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 15);
/**
 * Describes the message filesystem.RemoveWatcherRequest.
 * Use `create(RemoveWatcherRequestSchema)` to create a new message.
 */
export const RemoveWatcherRequestSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 16);
/**
 * Describes the message filesystem.RemoveWatcherResponse.
 * Use `create(RemoveWatcherResponseSchema)` to create a new message.
 */
export const RemoveWatcherResponseSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 17);
/**
 * Describes the message filesystem.EntryInfo.
 * Use `create(EntryInfoSchema)` to create a new message.
 */
export const EntryInfoSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 18);
/**
 * Describes the message filesystem.FilesystemEvent.
 * Use `create(FilesystemEventSchema)` to create a new message.
 */
export const FilesystemEventSchema = /*@__PURE__*/ messageDesc(file_filesystem_filesystem, 19);
/**
 * @generated from enum filesystem.FileType
 */
export var FileType;
(function (FileType) {
    /**
     * @generated from enum value: FILE_TYPE_UNSPECIFIED = 0;
     */
    FileType[FileType["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * @generated from enum value: FILE_TYPE_FILE = 1;
     */
    FileType[FileType["FILE"] = 1] = "FILE";
    /**
     * @generated from enum value: FILE_TYPE_DIRECTORY = 2;
     */
    FileType[FileType["DIRECTORY"] = 2] = "DIRECTORY";
    /**
     * @generated from enum value: FILE_TYPE_SYMLINK = 3;
     */
    FileType[FileType["SYMLINK"] = 3] = "SYMLINK";
})(FileType || (FileType = {}));
/**
 * Describes the enum filesystem.FileType.
 */
export const FileTypeSchema = /*@__PURE__*/ enumDesc(file_filesystem_filesystem, 0);
/**
 * @generated from enum filesystem.EventType
 */
export var EventType;
(function (EventType) {
    /**
     * @generated from enum value: EVENT_TYPE_UNSPECIFIED = 0;
     */
    EventType[EventType["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * @generated from enum value: EVENT_TYPE_CREATE = 1;
     */
    EventType[EventType["CREATE"] = 1] = "CREATE";
    /**
     * @generated from enum value: EVENT_TYPE_WRITE = 2;
     */
    EventType[EventType["WRITE"] = 2] = "WRITE";
    /**
     * @generated from enum value: EVENT_TYPE_REMOVE = 3;
     */
    EventType[EventType["REMOVE"] = 3] = "REMOVE";
    /**
     * @generated from enum value: EVENT_TYPE_RENAME = 4;
     */
    EventType[EventType["RENAME"] = 4] = "RENAME";
    /**
     * @generated from enum value: EVENT_TYPE_CHMOD = 5;
     */
    EventType[EventType["CHMOD"] = 5] = "CHMOD";
})(EventType || (EventType = {}));
/**
 * Describes the enum filesystem.EventType.
 */
export const EventTypeSchema = /*@__PURE__*/ enumDesc(file_filesystem_filesystem, 1);
/**
 * @generated from service filesystem.Filesystem
 */
export const Filesystem = /*@__PURE__*/ serviceDesc(file_filesystem_filesystem, 0);
