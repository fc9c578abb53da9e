import type { Setting } from "./setting.ts";

/** Limits of template builds, and the registries that they may use. */
export const BUILD_SETTINGS = [
  {
    name: "BOXYARD_MAX_BUILDS",
    form: "number",
    usedBy: "server",
    default: "number of cores, at least 2",
    meaning: "Template builds at work at once; others queue.",
  },
  {
    name: "BOXYARD_MAX_QUEUED_BUILDS",
    form: "number",
    usedBy: "server",
    default: "20",
    meaning: "Template builds that one team may have queued or at work; more get 429.",
  },
  {
    name: "BOXYARD_MAX_BUILD_CACHE_MIB",
    form: "MiB",
    usedBy: "server",
    default: "20480",
    meaning: "Most MiB of layers that only the cache of build steps needs; layers that were used longest ago are removed first.",
  },
  {
    name: "BOXYARD_MAX_BUILD_FILES_MIB",
    form: "MiB",
    usedBy: "server",
    default: "65536",
    meaning:
      "Most MiB of files that one team has uploaded for builds. Files that were not used for an hour are removed to make room; beyond that, 507.",
  },
  {
    name: "BOXYARD_REGISTRY",
    form: "HOST[:PORT][/PATH]",
    usedBy: "server",
    default: "docker.io/library",
    meaning:
      "HOST[:PORT][/PATH]/library: mirror of Docker Hub, where builds look for images whose names have no registry (python:3.12) or name docker.io.",
  },
  {
    name: "BOXYARD_PRIVATE_REGISTRIES",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning:
      "Registries on this machine or in a private network that builds may use, comma-separated: HOST or HOST:PORT; with http:// before it, without TLS. Others must be public, with TLS.",
  },
  {
    name: "BOXYARD_TOKEN_SERVERS",
    form: "list",
    usedBy: "server",
    default: "none",
    meaning: "REGISTRY=HOST pairs, comma-separated: hosts of another site that may give tokens for a registry.",
  },
  {
    name: "BOXYARD_BUILD_SETTINGS",
    form: "machine or none",
    usedBy: "server",
    default: "machine",
    meaning: "machine: template builds take along this machine's package settings and proxies; none: they don't.",
  },
  {
    name: "BOXYARD_AUTHORITIES",
    form: "machine, none or a path",
    usedBy: "server",
    default: "machine",
    meaning:
      "machine: builds and running sandboxes trust the certificate authorities that were added to this machine, as behind an inspecting proxy; /PATH: those of a PEM file or of a directory with such; none: only their image's own.",
  },
] as const satisfies readonly Setting[];
