import { BoxyardError } from "./errors.js";
const text = (value) => (typeof value === "string" ? value : undefined);
function required(value, field) {
    if (value !== undefined)
        return value;
    const message = `the server's answer has no ${field}; is there a Boxyard server at this URL?`;
    throw new BoxyardError(message, { code: "internal", reason: "protocol_error" });
}
export function accessFromJson(value) {
    const json = (value ?? {});
    return {
        sandboxId: required(text(json.sandboxID), "sandboxID"),
        envdVersion: required(text(json.envdVersion), "envdVersion"),
        accessToken: text(json.envdAccessToken),
        domain: text(json.domain),
        trafficAccessToken: text(json.trafficAccessToken),
    };
}
export function snapshotFromJson(value) {
    const json = (value ?? {});
    const names = Array.isArray(json.names) ? json.names.filter((name) => typeof name === "string") : [];
    return { snapshotId: required(text(json.snapshotID), "snapshotID"), names };
}
export function infoFromJson(value) {
    const json = (value ?? {});
    const alias = text(json.alias);
    return {
        sandboxId: required(text(json.sandboxID), "sandboxID"),
        templateId: required(text(json.templateID), "templateID"),
        ...(alias === undefined ? {} : { name: alias }),
        state: json.state === "paused" ? "paused" : "running",
        startedAt: new Date(required(text(json.startedAt), "startedAt")),
        endAt: new Date(required(text(json.endAt), "endAt")),
        cpuCount: Number(json.cpuCount ?? 0),
        memoryMB: Number(json.memoryMB ?? 0),
        diskSizeMB: Number(json.diskSizeMB ?? 0),
        metadata: (json.metadata ?? {}),
        envdVersion: text(json.envdVersion) ?? "",
    };
}
export function metricsFromJson(value) {
    const json = (value ?? {});
    const number = (field) => Number(json[field] ?? 0);
    const seconds = json.timestampUnix;
    return {
        timestamp: typeof seconds === "number" ? new Date(seconds * 1000) : new Date(required(text(json.timestamp), "timestamp")),
        cpuCount: number("cpuCount"),
        cpuUsedPct: number("cpuUsedPct"),
        memUsed: number("memUsed"),
        memTotal: number("memTotal"),
        memCache: number("memCache"),
        diskUsed: number("diskUsed"),
        diskTotal: number("diskTotal"),
    };
}
export function logFromJson(value) {
    const json = (value ?? {});
    const level = json.level === "debug" || json.level === "warn" || json.level === "error" ? json.level : "info";
    return {
        timestamp: new Date(required(text(json.timestamp), "timestamp")),
        level,
        message: text(json.message) ?? "",
        fields: (json.fields ?? {}),
    };
}
