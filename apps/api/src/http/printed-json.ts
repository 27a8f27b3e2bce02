/** PrintedJson is a value that is already JSON text in UTF-8. */
export class PrintedJson {
  constructor(readonly text: Buffer) {}
}

export const compactJson = (value: unknown): Buffer =>
  value instanceof PrintedJson ? value.text : Buffer.from(JSON.stringify(value));

export function indentedJson(value: unknown): Buffer {
  const plain: unknown = value instanceof PrintedJson ? JSON.parse(value.text.toString()) : value;
  return Buffer.from(`${JSON.stringify(plain, null, 4)}\n`);
}
