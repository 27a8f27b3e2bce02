import { createHash } from 'node:crypto';

const VARIANT = 0x80;

/** The UUID of version 5 (RFC 9562) of a name: the same for the same name of the same owner. @param owner a UUID */
export function uuidOfName(owner: string, name: string): string {
  const hash = createHash('sha1')
    .update(Buffer.from(owner.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  return uuidOfHash(hash, 0x50);
}

/** The UUID of version 8 (RFC 9562) that depends on the text only. */
export const uuidOfText = (text: string): string => uuidOfHash(createHash('sha256').update(text).digest(), 0x80);

function uuidOfHash(hash: Buffer, version: number): string {
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | version, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | VARIANT, 8);
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
