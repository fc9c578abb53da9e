/** 128 random bits as hex. (`crypto.randomUUID` is missing in pages that are neither https nor localhost.) */
export function randomKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
