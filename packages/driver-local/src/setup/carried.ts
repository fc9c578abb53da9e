export { applyPatch, makePatch } from "./carried/runtime-patch.ts";
export { AGENT, COMPRESSED_SUFFIX, GUEST_DIRECTORY, PATCH_SUFFIX, unpackGuest } from "./carried/unpack.ts";
export { hashSources } from "./checkout.ts";
export { forkServerKey } from "./fork-server.ts";
export { guestKey } from "./guest/build.ts";
export { baseNpmPackages, type PackOptions, packCarried, packGuest } from "./pack-carried.ts";
