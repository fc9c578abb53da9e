/*
 * What pdf.js expects of a page and a worker does not have. Imported before it: it asks for `window` when it is loaded.
 */

const scope = globalThis as unknown as Record<string, unknown>;
// Else the part that reads files takes the messages of this worker for its own.
scope.window = globalThis;
// A page in the background gets no animation frames, and the drawing has to end there too.
scope.requestAnimationFrame = (draw: () => void) => setTimeout(draw, 0);

/** A canvas that is in no document. */
interface Drawing {
  canvas: OffscreenCanvas | null;
  context: OffscreenCanvasRenderingContext2D | null;
}

/** Pixels of the largest canvas that a file gets. */
const MOST_PIXELS = 32 * 2 ** 20;

export class OffscreenCanvases {
  create(width: number, height: number): Drawing {
    if (!(width > 0 && height > 0 && width * height <= MOST_PIXELS)) throw new Error("A picture in it is too large");
    const canvas = new OffscreenCanvas(width, height);
    return { canvas, context: canvas.getContext("2d", { willReadFrequently: true }) };
  }

  reset({ canvas }: Drawing, width: number, height: number): void {
    if (!(width > 0 && height > 0 && width * height <= MOST_PIXELS)) throw new Error("A picture in it is too large");
    if (!canvas) return;
    canvas.width = width;
    canvas.height = height;
  }

  destroy(drawing: Drawing): void {
    if (drawing.canvas) {
      drawing.canvas.width = 0;
      drawing.canvas.height = 0;
    }
    drawing.canvas = null;
    drawing.context = null;
  }
}

/** Filters of SVG need a document; a drawing without them has the plain colours. */
export class NoFilters {
  addFilter = () => "none";
  addHCMFilter = () => "none";
  addAlphaFilter = () => "none";
  addLuminosityFilter = () => "none";
  addKnockoutFilter = () => "none";
  addHighlightHCMFilter = () => "none";
  destroy(): void {}
}
