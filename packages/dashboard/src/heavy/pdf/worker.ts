// First: pdf.js looks at its surroundings when it is loaded.
import "./surroundings.ts";
import "pdfjs-dist/build/pdf.worker.mjs";
import { getDocument, type PDFDocumentProxy, VerbosityLevel } from "pdfjs-dist";
import type { PdfAnswer, PdfOrder } from "../../lib/pdf-messages.ts";
import { NoFilters, OffscreenCanvases } from "./surroundings.ts";

/*
 * Reads PDFs for the dashboard, all of pdf.js in a worker of its own: a file has no document, no cookie and no storage in reach, and the policy that this
 * script is served with gives it neither network nor text that becomes code. Scripts, links, forms and attachments of a file are not looked at.
 */

interface Scope {
  readonly fonts: FontFaceSet;
  onmessage: ((event: MessageEvent<PdfOrder>) => void) | null;
  postMessage(answer: PdfAnswer, moved?: Transferable[]): void;
}

const scope = globalThis as unknown as Scope;
const MOST_PIXELS = 32 * 2 ** 20;
const LONGEST_TEXT = 20_000;
let file: PDFDocumentProxy | undefined;

scope.onmessage = ({ data }) => {
  const done = data.order === "open" ? open(data.data) : draw(data.page, data.width);
  done.catch((error: unknown) => scope.postMessage({ answer: "failed", message: error instanceof Error ? error.message : String(error) }));
};

async function open(data: ArrayBuffer): Promise<void> {
  file = await getDocument({
    data,
    isEvalSupported: false,
    useWasm: false,
    enableXfa: false,
    disableAutoFetch: true,
    useWorkerFetch: false,
    useSystemFonts: false,
    maxImageSize: MOST_PIXELS,
    canvasMaxAreaInBytes: 4 * MOST_PIXELS,
    verbosity: VerbosityLevel.ERRORS,
    CanvasFactory: OffscreenCanvases,
    FilterFactory: NoFilters,
    // Only its fonts are used.
    ownerDocument: { fonts: scope.fonts } as unknown as HTMLDocument,
  }).promise;
  scope.postMessage({ answer: "opened", pages: file.numPages });
}

async function draw(number: number, width: number): Promise<void> {
  if (!file) throw new Error("No file is open");
  const page = await file.getPage(number);
  const plain = page.getViewport({ scale: 1 });
  // A page can claim any size.
  const scale = Math.min(width / plain.width, Math.sqrt(MOST_PIXELS / (plain.width * plain.height)));
  const viewport = page.getViewport({ scale });
  const canvas = new OffscreenCanvas(Math.max(1, Math.floor(viewport.width)), Math.max(1, Math.floor(viewport.height)));
  const context = canvas.getContext("2d");
  if (!context) throw new Error("The browser gives no canvas");
  await page.render({ canvas: null, canvasContext: context as unknown as CanvasRenderingContext2D, viewport }).promise;
  const { items } = await page.getTextContent();
  let text = "";
  for (const item of items) {
    if (text.length > LONGEST_TEXT) break;
    if ("str" in item) text += item.str + (item.hasEOL ? "\n" : " ");
  }
  const bitmap = canvas.transferToImageBitmap();
  page.cleanup();
  scope.postMessage({ answer: "drawn", bitmap, text: text.slice(0, LONGEST_TEXT) }, [bitmap]);
}
