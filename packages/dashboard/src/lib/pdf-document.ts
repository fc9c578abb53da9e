import type { PdfAnswer, PdfOrder } from "./pdf-messages.ts";

/** Address of the worker's script; the build puts it here. */
declare const PDF_WORKER_ADDRESS: string;

/** A page that takes longer is given up, with the file: a file can ask for any amount of work. */
const LIMIT_MS = 20_000;

/** A PDF that a worker has open. Orders are done one after another. */
export class PdfDocument {
  readonly pages: number;
  private readonly worker: Worker;
  private last: Promise<unknown> = Promise.resolve();

  private constructor(worker: Worker, pages: number) {
    this.worker = worker;
    this.pages = pages;
  }

  /** Throws, in words, for what is no PDF. */
  static async open(data: ArrayBuffer): Promise<PdfDocument> {
    const worker = new Worker(PDF_WORKER_ADDRESS, { type: "module" });
    try {
      const answer = await ask(worker, { order: "open", data }, [data]);
      if (answer.answer !== "opened") throw new Error("It is no PDF");
      return new PdfDocument(worker, answer.pages);
    } catch (error) {
      worker.terminate();
      throw error;
    }
  }

  /** A page, as many pixels wide, and its text. */
  draw(page: number, width: number): Promise<{ readonly bitmap: ImageBitmap; readonly text: string }> {
    const drawn = this.last.then(async () => {
      const answer = await ask(this.worker, { order: "draw", page, width });
      if (answer.answer !== "drawn") throw new Error("The page cannot be drawn");
      return answer;
    });
    this.last = drawn.catch(() => {});
    return drawn;
  }

  close(): void {
    this.worker.terminate();
  }
}

async function ask(worker: Worker, order: PdfOrder, moved: Transferable[] = []): Promise<PdfAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<PdfAnswer>();
  const timer = setTimeout(() => {
    worker.terminate();
    reject(new Error("It takes too long to draw. Download the file to see it."));
  }, LIMIT_MS);
  worker.onmessage = ({ data }: MessageEvent<PdfAnswer>) => resolve(data);
  worker.onerror = () => reject(new Error("The viewer of PDFs could not be loaded. Reload the page."));
  worker.postMessage(order, moved);
  try {
    const answer = await promise;
    if (answer.answer === "failed") throw new Error(`The file cannot be shown: ${answer.message}`);
    return answer;
  } finally {
    clearTimeout(timer);
  }
}
