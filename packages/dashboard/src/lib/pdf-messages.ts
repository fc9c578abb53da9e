/* What the page and the worker that reads PDFs send to each other. */

/** To the worker. */
export type PdfOrder =
  | { readonly order: "open"; readonly data: ArrayBuffer }
  /** Draws a page, as many pixels wide; pages count from 1. */
  | { readonly order: "draw"; readonly page: number; readonly width: number };

/** From the worker, one for each order. */
export type PdfAnswer =
  | { readonly answer: "opened"; readonly pages: number }
  | { readonly answer: "drawn"; readonly bitmap: ImageBitmap; readonly text: string }
  | { readonly answer: "failed"; readonly message: string };
