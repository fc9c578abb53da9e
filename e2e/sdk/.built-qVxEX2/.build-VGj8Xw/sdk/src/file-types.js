import { FileType } from "@boxyard/spec/pb/filesystem";
/** A symlink has a target, also where the agent's answer has no field that says so. */
export function entryFromWire(entry) {
    const time = entry.modifiedTime;
    return {
        name: entry.name,
        path: entry.path,
        type: entry.type === FileType.FILE ? "file" : entry.type === FileType.DIRECTORY ? "directory" : "unknown",
        size: Number(entry.size),
        mode: entry.mode,
        permissions: entry.permissions,
        owner: entry.owner,
        group: entry.group,
        modifiedTime: time ? new Date(Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6)) : undefined,
        isSymlink: entry.isSymlink || entry.symlinkTarget !== undefined,
        ...(entry.symlinkTarget === undefined ? {} : { symlinkTarget: entry.symlinkTarget }),
        metadata: entry.metadata,
    };
}
/** The agent is inside a sandbox, so its answers are looked at before they are used. */
export function writeInfoFrom(value) {
    const { path, name, type, metadata } = (value ?? {});
    if (typeof path !== "string" || typeof name !== "string")
        return undefined;
    return { path, name, type: type === "file" || type === "directory" ? type : "unknown", metadata: stringMap(metadata) };
}
function stringMap(value) {
    if (typeof value !== "object" || value === null)
        return {};
    return Object.fromEntries(Object.entries(value).filter((e) => typeof e[1] === "string"));
}
