/**
 * Writes `src/generated/platform-types.ts`: the shapes of the platform API as plain types, for code that must not carry the schemas along (the
 * published client). Run it after a change of the platform's shapes; a check compares the result with git.
 */
import { platformDocument } from "./document.ts";
import { typesOf } from "./types-of.ts";

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const path = new URL("../generated/platform-types.ts", import.meta.url).pathname;
await Bun.write(path, typesOf((platformDocument() as Document).components.schemas));
