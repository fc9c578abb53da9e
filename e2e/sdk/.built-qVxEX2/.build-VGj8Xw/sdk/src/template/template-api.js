import { withQuery } from "../file-transfer.js";
import { buildFromJson, tagFromJson, templateFromJson } from "./template-info.js";
const NO_TEMPLATE = "template_not_found";
const templatePath = (id, rest = "") => `/templates/${encodeURIComponent(id)}${rest}`;
const ignore = async () => undefined;
export function requestBuild(api, name, tags, { cpuCount, memoryMB }, options) {
    return api.send({
        method: "POST",
        path: "/v3/templates",
        what: `request a build of template ${name}`,
        options,
        body: { name, tags, cpuCount, memoryMB },
        read: async (response) => {
            const json = (await response.json());
            const strings = (value) => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);
            const [templateId, buildId] = [String(json.templateID), String(json.buildID)];
            return { templateId, buildId, names: strings(json.names), tags: strings(json.tags) };
        },
    });
}
/** Where files of a COPY are to be put, and whether the server has them already. */
export function uploadLink(api, templateId, hash, options) {
    return api.send({
        method: "GET",
        path: templatePath(templateId, `/files/${hash}`),
        what: "ask where to upload files",
        notFoundReason: NO_TEMPLATE,
        options,
        read: async (response) => {
            const { present, url, headers } = (await response.json());
            return { present: present === true, url: typeof url === "string" ? url : undefined, headers: headers ?? {} };
        },
    });
}
export function startBuild(api, ref, { startCmd, readyCmd, origin }, { stages, steps, secrets, force }, options) {
    return api.send({
        method: "POST",
        path: `/v2${templatePath(ref.templateId, `/builds/${encodeURIComponent(ref.buildId)}`)}`,
        what: "start the build",
        notFoundReason: NO_TEMPLATE,
        options,
        body: {
            ...origin,
            ...(stages.length > 0 ? { stages } : {}),
            ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
            steps,
            force,
            ...(startCmd ? { startCmd } : {}),
            ...(readyCmd ? { readyCmd } : {}),
        },
        read: ignore,
    });
}
export function cancelBuild(api, ref, options) {
    return api.send({
        method: "POST",
        path: templatePath(ref.templateId, `/builds/${encodeURIComponent(ref.buildId)}/cancel`),
        what: "cancel the build",
        notFoundReason: NO_TEMPLATE,
        repeatable: true,
        options,
        read: ignore,
    });
}
export function buildStatus(api, ref, logsOffset, options) {
    return api.send({
        method: "GET",
        path: templatePath(ref.templateId, `/builds/${encodeURIComponent(ref.buildId)}/status?logsOffset=${logsOffset}&limit=100`),
        what: "ask for the build's status",
        notFoundReason: "build_not_found",
        options,
        read: async (response) => buildFromJson(await response.json()),
    });
}
/** The id behind a name; undefined when there is no such template. A name that belongs to others is `taken`. */
export function resolveName(api, name, options) {
    return api.send({
        method: "GET",
        path: `/templates/aliases/${encodeURIComponent(name)}`,
        what: `look for template ${name}`,
        options,
        accept: [403, 404],
        read: async (response) => {
            if (response.status === 404)
                return undefined;
            return response.status === 403 ? "taken" : String((await response.json()).templateID);
        },
    });
}
export function listTemplates(api, limit, nextToken, options) {
    const query = new URLSearchParams();
    if (limit !== undefined)
        query.set("limit", String(limit));
    if (nextToken)
        query.set("nextToken", nextToken);
    return api.send({
        method: "GET",
        path: `/v2/templates${withQuery(query)}`,
        what: "list templates",
        options,
        read: async (response) => {
            const items = (await response.json()).map(templateFromJson);
            return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
        },
    });
}
export function getTemplate(api, id, options) {
    return api.send({
        method: "GET",
        path: templatePath(id),
        what: `look at template ${id}`,
        notFoundReason: NO_TEMPLATE,
        options,
        read: async (response) => templateFromJson(await response.json()),
    });
}
/** False when there was no such template. */
export function deleteTemplate(api, id, options) {
    return api.send({
        method: "DELETE",
        path: templatePath(id),
        what: `delete template ${id}`,
        options,
        accept: [404],
        read: async (response, repeated) => response.status !== 404 || repeated,
    });
}
export function setPublic(api, id, isPublic, options) {
    return api.send({
        method: "PATCH",
        path: `/v2${templatePath(id)}`,
        what: `change template ${id}`,
        notFoundReason: NO_TEMPLATE,
        repeatable: true,
        options,
        body: { public: isPublic },
        read: ignore,
    });
}
export function listTags(api, id, options) {
    return api.send({
        method: "GET",
        path: templatePath(id, "/tags"),
        what: `list tags of template ${id}`,
        notFoundReason: NO_TEMPLATE,
        options,
        read: async (response) => (await response.json()).map(tagFromJson),
    });
}
export function assignTags(api, target, tags, options) {
    return api.send({
        method: "POST",
        path: "/templates/tags",
        what: `tag ${target}`,
        notFoundReason: NO_TEMPLATE,
        repeatable: true,
        options,
        body: { target, tags },
        read: ignore,
    });
}
export function removeTags(api, name, tags, options) {
    return api.send({
        method: "DELETE",
        path: "/templates/tags",
        what: `remove tags of ${name}`,
        notFoundReason: NO_TEMPLATE,
        options,
        body: { name, tags },
        read: ignore,
    });
}
