/** What a test wants of a PDF. */
export interface PdfWish {
  /** A page with each of these texts. */
  readonly pages: readonly string[];
  /** More entries of the document itself, such as `/OpenAction`. */
  readonly catalog?: string;
  /** More entries of each page. */
  readonly page?: string;
  /** More objects, from number 3 on, by their text. */
  readonly objects?: readonly string[];
  /** Another font than Helvetica. */
  readonly font?: string;
  /** Drawn behind the text of each page. */
  readonly content?: string;
}

/** A PDF of plain text objects, as a program would write it that knows the format and nothing else. */
export function makePdf({ pages, catalog = "", page = "", objects = [], font, content = "" }: PdfWish): string {
  const texts = new Map<number, string>();
  for (const [index, text] of objects.entries()) texts.set(3 + index, text);
  let next = 3 + objects.length;
  const fontNumber = next++;
  texts.set(fontNumber, font ?? "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
  const kids = pages.map((text) => {
    const stream = `${content} BT /F1 24 Tf 72 700 Td (${text}) Tj ET`;
    const [body, own] = [next++, next++];
    texts.set(body, `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`);
    const resources = `/Resources << /Font << /F1 ${fontNumber} 0 R >> >>`;
    texts.set(
      own,
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${body} 0 R ${page.includes("/Resources") ? "" : resources} ${page} >>`,
    );
    return `${own} 0 R`;
  });
  texts.set(1, `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`);
  texts.set(2, `<< /Type /Pages /Kids [${kids.join(" ")}] /Count ${kids.length} >>`);
  let file = "%PDF-1.7\n";
  const places: number[] = [];
  for (let number = 1; number < next; number++) {
    places.push(file.length);
    file += `${number} 0 obj\n${texts.get(number)}\nendobj\n`;
  }
  const table = places.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("");
  return `${file}xref\n0 ${next}\n0000000000 65535 f \n${table}trailer\n<< /Size ${next} /Root 1 0 R >>\nstartxref\n${file.length}\n%%EOF\n`;
}
