/** What `writeAll` needs of an open file. */
export interface Writable {
  write(bytes: Uint8Array, offset: number, length: number): Promise<{ readonly bytesWritten: number }>;
}

/** Writes all of `bytes` at the file's position; one write may take only a part of them. */
export async function writeAll(file: Writable, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength; ) at += (await file.write(bytes, at, bytes.byteLength - at)).bytesWritten;
}
