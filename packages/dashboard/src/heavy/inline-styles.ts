/*
 * The page's Content-Security-Policy allows no style that stands in the document itself. xterm.js writes its rules into <style> elements and the colours of
 * cells into `style` attributes. Both have a form that the policy allows: constructed style sheets, and the properties of an element's style.
 */

/** Runs `open`; the text of <style> elements that it makes goes to constructed style sheets, then and later. */
export function withoutInlineStyles(open: () => void): { dispose(): void } {
  useStyleProperties();
  const sheets: CSSStyleSheet[] = [];
  const plain = document.createElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    if (name.toLowerCase() !== "style") return plain.call(document, name, options);
    // The policy refuses an empty <style> element too.
    const element = plain.call(document, "span");
    element.hidden = true;
    sheets.push(textGoesToSheet(element));
    return element;
  }) as typeof document.createElement;
  try {
    open();
  } finally {
    document.createElement = plain;
  }
  return {
    dispose() {
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((sheet) => !sheets.includes(sheet));
    },
  };
}

function textGoesToSheet(element: HTMLElement): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  let text = "";
  Object.defineProperty(element, "textContent", {
    get: () => text,
    set: (rules: string) => {
      text = rules;
      sheet.replaceSync(rules);
    },
  });
  return sheet;
}

let isDone = false;

/** `setAttribute("style", …)` of a cell sets the properties of its style instead, which the policy allows. */
function useStyleProperties(): void {
  if (isDone) return;
  isDone = true;
  const plain = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function setAttribute(this: Element, name: string, value: string) {
    if (name === "style" && this instanceof HTMLElement) this.style.cssText = value;
    else plain.call(this, name, value);
  };
}
