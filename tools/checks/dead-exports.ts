/** The kinds of exports that are checked. Types are not checked, because they describe parameters and results of other exports. */
const EXPORT = /^export (?:async )?(?:const|function\*?|class|enum) (\w+)/gm;
const WORD = /[A-Za-z_$][\w$]*/g;
/** The client's exports are for its users. */
const LOOKED_AT = /^packages\/(?!sdk\/)[^/]+\/src\/.*\.tsx?$/;

export interface DeadExport {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

interface Source {
  readonly path: string;
  readonly text: string;
}

/** Exports whose name appears in no other file. An unused export is missed if another file uses its name for something else. No used export is reported. */
export function deadExports(sources: readonly Source[]): DeadExport[] {
  const filesOf = new Map<string, number>();
  for (const { text } of sources) for (const word of new Set(text.match(WORD))) filesOf.set(word, (filesOf.get(word) ?? 0) + 1);
  return sources
    .filter(({ path }) => LOOKED_AT.test(path) && !/\.test\.tsx?$/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(EXPORT)].flatMap(({ index, 1: name = "" }) => {
        if (filesOf.get(name) !== 1) return [];
        const line = text.slice(0, index).split("\n").length;
        return [{ path, line, message: `${name} is exported, but no other file uses it` }];
      }),
    );
}
