const text = (value) => (typeof value === "string" ? value : undefined);
const date = (value) => new Date(text(value) ?? Number.NaN);
const state = (value) => (value === "waiting" || value === "building" || value === "ready" ? value : "error");
export function buildFromJson(value) {
    const json = (value ?? {});
    const reason = json.reason;
    return {
        status: state(json.status),
        logs: (Array.isArray(json.logEntries) ? json.logEntries : []).map(entryFromJson),
        reason: reason && { message: text(reason.message) ?? "the build failed", step: text(reason.step) },
    };
}
function entryFromJson(json) {
    const level = json.level === "debug" || json.level === "warn" || json.level === "error" ? json.level : "info";
    return { timestamp: date(json.timestamp), level, message: text(json.message) ?? "", step: text(json.step) };
}
export function templateFromJson(value) {
    const json = (value ?? {});
    return {
        templateId: text(json.templateID) ?? "",
        buildId: text(json.buildID) ?? "",
        names: Array.isArray(json.names) ? json.names.filter((name) => typeof name === "string") : [],
        buildStatus: state(json.buildStatus),
        isPublic: json.public === true,
        cpuCount: Number(json.cpuCount ?? 0),
        memoryMB: Number(json.memoryMB ?? 0),
        diskSizeMB: Number(json.diskSizeMB ?? 0),
        createdAt: date(json.createdAt),
        updatedAt: date(json.updatedAt),
        lastUsedAt: text(json.lastSpawnedAt) === undefined ? undefined : date(json.lastSpawnedAt),
        useCount: Number(json.spawnCount ?? 0),
        buildCount: Number(json.buildCount ?? 0),
        envdVersion: text(json.envdVersion) ?? "",
    };
}
export function tagFromJson(value) {
    const json = (value ?? {});
    return { tag: text(json.tag) ?? "", buildId: text(json.buildID) ?? "", createdAt: date(json.createdAt) };
}
