import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { json } from "@codemirror/lang-json";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { isDark } from "../lib/theme.ts";

const LANGUAGES: Readonly<Record<string, () => Extension>> = {
  js: javascript,
  mjs: javascript,
  jsx: () => javascript({ jsx: true }),
  ts: () => javascript({ typescript: true }),
  tsx: () => javascript({ jsx: true, typescript: true }),
  json,
  py: python,
};

/** Colours of the page, so that they follow its theme and have its contrast. */
const COLORS = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier, tags.operatorKeyword], color: "var(--busy)" },
  { tag: [tags.string, tags.regexp, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--warm)" },
  { tag: [tags.comment, tags.docComment], color: "var(--muted)" },
  { tag: [tags.function(tags.variableName), tags.definition(tags.propertyName), tags.typeName, tags.className], color: "var(--accent)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

export interface Editor {
  text(): string;
  dispose(): void;
}

interface EditorOptions {
  readonly text: string;
  readonly name: string;
  readonly label: string;
  readonly onChange: () => void;
  readonly onSave: () => void;
}

/** Shows an editor in an element. It is in a shadow root, where it puts its styles into constructed style sheets, which the page's policy allows. */
export function openEditor(element: HTMLElement, { text, name, label, onChange, onSave }: EditorOptions): Editor {
  const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
  root.replaceChildren();
  const saved = () => {
    onSave();
    return true;
  };
  const language = LANGUAGES[/\.(\w+)$/.exec(name)?.[1]?.toLowerCase() ?? ""];
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        search({ top: true }),
        syntaxHighlighting(COLORS),
        keymap.of([{ key: "Mod-s", run: saved, preventDefault: true }, ...defaultKeymap, ...historyKeymap, ...searchKeymap, indentWithTab]),
        EditorView.lineWrapping,
        // With a tab stop that checkers of accessibility see: `contenteditable` alone is none to them.
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
        theme(isDark()),
        ...(language ? [language()] : []),
      ],
    }),
  });
  return { text: () => view.state.doc.toString(), dispose: () => view.destroy() };
}

const theme = (dark: boolean): Extension =>
  EditorView.theme(
    {
      "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--surface)" },
      ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
      ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none" },
      ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
      "&.cm-focused": { outline: "none" },
      ".cm-cursor": { borderLeftColor: "var(--accent)" },
    },
    { dark },
  );
