import { list } from '../evaluation/value.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { num, of, str, textOf, wholeOf } from './parameters.js';

/** A network address: its bits as one number, their count, and the length of the network part. */
interface Prefix {
  readonly bits: bigint;
  readonly width: 32 | 128;
  readonly length: number;
}

export const ADDRESS_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  cidrhost: of([str('prefix'), num('hostnum')], ([prefix, host]) => hostOf(parsed(textOf(prefix)), wholeOf(host))),
  cidrnetmask: of([str('prefix')], ([prefix]) => {
    const { width, length } = parsed(textOf(prefix));
    return addressText(networkMask(width, length), width);
  }),
  cidrsubnet: of([str('prefix'), num('newbits'), num('netnum')], ([prefix, newBits, number]) =>
    textOfPrefix(subnet(parsed(textOf(prefix)), wholeOf(newBits), BigInt(wholeOf(number)))),
  ),
  cidrsubnets: of(
    [str('prefix')],
    ([prefix, ...sizes]) => list(subnets(parsed(textOf(prefix)), sizes.map(wholeOf)).map(textOfPrefix)),
    num('newbits'),
  ),
};

function parsed(text: string): Prefix {
  const [address = '', length = '', more] = text.split('/');
  const found = more === undefined && /^\d{1,3}$/u.test(length) ? (bitsOf4(address) ?? bitsOf6(address)) : undefined;
  if (!found || Number(length) > found.width) throw new FunctionError(`invalid CIDR expression: ${text}`);
  const prefix = { ...found, length: Number(length) };
  return { ...prefix, bits: prefix.bits & networkMask(prefix.width, prefix.length) };
}

function bitsOf4(address: string): Omit<Prefix, 'length'> | undefined {
  const parts = address.split('.');
  if (parts.length !== 4 || parts.some((part) => !/^(?:0|[1-9]\d{0,2})$/u.test(part) || Number(part) > 255))
    return undefined;
  return { bits: parts.reduce((sum, part) => (sum << 8n) | BigInt(part), 0n), width: 32 };
}

/** Parses an IPv6 address. Its last 32 bits may be written as an IPv4 address. */
function bitsOf6(address: string): Omit<Prefix, 'length'> | undefined {
  const embedded = bitsOf4(address.slice(address.lastIndexOf(':') + 1));
  if (embedded && address.includes(':'))
    return bitsOf6(address.slice(0, address.lastIndexOf(':') + 1) + wordsOf(embedded.bits, 16n, 2).map(hex).join(':'));
  const [head = '', tail, more] = address.split('::');
  const wordsIn = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [front, back] = [wordsIn(head), wordsIn(tail ?? '')];
  const missing = 8 - front.length - back.length;
  if (more !== undefined || (tail === undefined ? missing !== 0 : missing < 1)) return undefined;
  const words = [...front, ...Array.from({ length: missing }, () => '0'), ...back];
  if (words.some((word) => !/^[0-9a-fA-F]{1,4}$/u.test(word))) return undefined;
  return { bits: words.reduce((sum, word) => (sum << 16n) | BigInt(`0x${word}`), 0n), width: 128 };
}

function networkMask(width: number, length: number): bigint {
  return ((1n << BigInt(length)) - 1n) << BigInt(width - length);
}

/** Returns a host's address. Negative numbers count from the end of the network. */
function hostOf({ bits, width, length }: Prefix, host: number): string {
  const size = 1n << BigInt(width - length);
  const number = host < 0 ? size + BigInt(host) : BigInt(host);
  if (number < 0n || number >= size)
    throw new FunctionError(`prefix of ${length} does not accommodate a host numbered ${host}`);
  return addressText(bits | number, width);
}

function subnet({ bits, width, length }: Prefix, newBits: number, number: bigint): Prefix {
  const longer = length + newBits;
  if (newBits < 0 || longer > width)
    throw new FunctionError(`insufficient address space to extend prefix of ${length} by ${newBits}`);
  if (number < 0n || number >= 1n << BigInt(newBits))
    throw new FunctionError(`prefix extension of ${newBits} does not accommodate a subnet numbered ${number}`);
  return { bits: bits | (number << BigInt(width - longer)), width, length: longer };
}

/** Allocates subnets one after the other, each at the next place where it fits. */
function subnets(prefix: Prefix, sizes: readonly number[]): Prefix[] {
  const end = prefix.bits + (1n << BigInt(prefix.width - prefix.length));
  let next = prefix.bits;
  return sizes.map((newBits) => {
    const { width, length } = subnet(prefix, newBits, 0n);
    const size = 1n << BigInt(width - length);
    const bits = ((next + size - 1n) / size) * size;
    next = bits + size;
    if (next > end) throw new FunctionError('not enough remaining address space for the subnets');
    return { bits, width, length };
  });
}

const textOfPrefix = ({ bits, width, length }: Prefix): string => `${addressText(bits, width)}/${length}`;

function addressText(bits: bigint, width: 32 | 128): string {
  return width === 32 ? wordsOf(bits, 8n, 4).join('.') : shortened(wordsOf(bits, 16n, 8).map(hex));
}

/** Returns the last `count` words of `size` bits. */
const wordsOf = (bits: bigint, size: bigint, count: number): bigint[] =>
  Array.from({ length: count }, (_, at) => (bits >> (size * BigInt(count - 1 - at))) & ((1n << size) - 1n));
const hex = (word: bigint): string => word.toString(16);

/** Replaces the longest run of two or more zeros by `::`. */
function shortened(words: readonly string[]): string {
  const runs = [
    ...words
      .map((word) => (word === '0' ? '0' : 'x'))
      .join('')
      .matchAll(/00+/gu),
  ];
  const [longest] = runs.toSorted((a, b) => b[0].length - a[0].length);
  if (!longest) return words.join(':');
  const front = words.slice(0, longest.index).join(':');
  return `${front}::${words.slice(longest.index + longest[0].length).join(':')}`;
}
