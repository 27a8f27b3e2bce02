/** FileText is the beginning of a file as text; undefined if its bytes are none. */
export interface FileText {
  readonly text: string | undefined;
  /** Is true if the file is longer than what was read. */
  readonly isCut: boolean;
}

/** Reads bytes as UTF-8. A character that the end of the part cuts is left out. Bytes with a NUL are no text. */
export function fileText(bytes: Uint8Array, wholeSize: number): FileText {
  const isCut = bytes.length < wholeSize;
  if (bytes.includes(0)) return { text: undefined, isCut };
  return { text: new TextDecoder().decode(bytes, { stream: isCut }), isCut };
}
