import { encode } from '@msgpack/msgpack';
import { Decimal, Mapping, Sequence, type Value } from '@waybill/jobspec';

const INT64_MAX = 2n ** 63n - 1n;
const INT64_MIN = -(2n ** 63n);
/** The library writes whole numbers outside of these as doubles, and a bigint as 64 bits. */
const UINT32_MAX = 2n ** 32n - 1n;
const INT32_MIN = -(2n ** 31n);
/** Binary digits of a double. */
const DOUBLE_BITS = 53;

/** Encodes a configuration as MsgPack, with the bytes of the reference's library (PG-44). */
export const encodeConfig = (value: Value): Uint8Array =>
  encode(plain(value), { sortKeys: true, useBigInt64: true, maxDepth: 1_000 });

function plain(value: Value): unknown {
  if (value instanceof Decimal) return plainNumber(value);
  if (value instanceof Sequence) return value.items.map(plain);
  if (value instanceof Mapping) return Object.fromEntries([...value.entries].map(([key, item]) => [key, plain(item)]));
  return value;
}

/** An integer of 64 bits, a number that a double holds exactly, or else decimal text. */
function plainNumber(value: Decimal): number | bigint | string {
  if (!value.isWhole) return isExactDouble(value) ? value.toNumber() : value.toString();
  const whole = value.toBigInt();
  if (whole < INT64_MIN || whole > INT64_MAX) return value.toString();
  return whole < INT32_MIN || whole > UINT32_MAX ? whole : Number(whole);
}

/** Whether a fraction is an odd number of at most 53 bits over a power of two. */
function isExactDouble(value: Decimal): boolean {
  if (value.isInfinite) return true;
  const [whole = '', fraction = ''] = value.toString().replace('-', '').split('.');
  const fives = 5n ** BigInt(fraction.length);
  const digits = BigInt(whole + fraction);
  if (digits % fives !== 0n) return false;
  return (digits / fives).toString(2).replace(/0+$/, '').length <= DOUBLE_BITS;
}
