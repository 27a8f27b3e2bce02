import { createHash } from 'node:crypto';

const VERSION = 0x50;
const VARIANT = 0x80;

/** The UUID of version 5 (RFC 9562) of a name: the same for the same name of the same owner. @param owner a UUID */
export function uuidOfName(owner: string, name: string): string {
  const hash = createHash('sha1')
    .update(Buffer.from(owner.replaceAll('-', ''), 'hex'))
    .update(name)
    .digest();
  hash.writeUInt8((hash.readUInt8(6) & 0x0f) | VERSION, 6);
  hash.writeUInt8((hash.readUInt8(8) & 0x3f) | VARIANT, 8);
  return hash.toString('hex', 0, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
