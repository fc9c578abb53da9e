import { ApiClient } from "./api-client.js";
import { resolveConfig } from "./config.js";
/** The keys of your team. Whoever holds one can do everything, also make and revoke keys. */
export class ApiKeys {
    constructor() { }
    /** Makes a key. */
    static create(name, opts = {}) {
        return new ApiClient(resolveConfig(opts)).send({
            method: "POST",
            path: "/api-keys",
            what: "create API key",
            body: { name },
            read: async (response) => {
                const json = await response.json();
                return { ...keyFromJson(json), key: String(json.key) };
            },
        });
    }
    /** All keys, the oldest first. */
    static list(opts = {}) {
        return new ApiClient(resolveConfig(opts)).send({
            method: "GET",
            path: "/api-keys",
            what: "list API keys",
            read: async (response) => (await response.json()).map(keyFromJson),
        });
    }
    /** Takes a key away from its holder, at once. False when there was none. The last one cannot be revoked. */
    static revoke(id, opts = {}) {
        return new ApiClient(resolveConfig(opts)).send({
            method: "DELETE",
            path: `/api-keys/${encodeURIComponent(id)}`,
            what: `revoke API key ${id}`,
            accept: [404],
            read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
        });
    }
}
function keyFromJson(value) {
    const json = (value ?? {});
    const mask = (json.mask ?? {});
    return {
        id: String(json.id),
        name: String(json.name),
        hint: `${mask.prefix}${mask.maskedValuePrefix}…${mask.maskedValueSuffix}`,
        createdAt: new Date(String(json.createdAt)),
        lastUsedAt: json.lastUsed === undefined ? undefined : new Date(String(json.lastUsed)),
    };
}
