import { NS_PER_HOUR, NS_PER_MINUTE, NS_PER_MS, NS_PER_SECOND } from '@waybill/model/clock';
import { Decimal } from '../evaluation/decimal.js';

/** A text is not a duration. The message starts with `time: `. */
export class DurationError extends Error {
  override readonly name = 'DurationError';
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ns', 1],
  ['us', 1000],
  ['µs', 1000],
  ['μs', 1000],
  ['ms', NS_PER_MS],
  ['s', NS_PER_SECOND],
  ['m', NS_PER_MINUTE],
  ['h', NS_PER_HOUR],
]);
const PART = /(\d+\.?\d*|\.\d+)([^\d.]*)/uy;
const MAX_NS = Decimal.of(2n ** 63n - 1n);

/** Parses a text such as `1h30m` or `-1.5s` into nanoseconds (JS-51). @throws DurationError */
export function parseDurationText(text: string): number {
  const unsigned = text.replace(/^[+-]/u, '');
  if (unsigned === '0') return 0;
  if (unsigned === '') throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
  let total = Decimal.ZERO;
  PART.lastIndex = 0;
  while (PART.lastIndex < unsigned.length) {
    const [, number = '', unit = ''] = PART.exec(unsigned) ?? [];
    if (number === '') throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
    if (unit === '') throw new DurationError(`time: missing unit in duration ${JSON.stringify(text)}`);
    const ns = UNITS.get(unit);
    if (ns === undefined)
      throw new DurationError(`time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`);
    total = total.plus((Decimal.parse(padded(number)) ?? Decimal.ZERO).times(Decimal.of(ns)).truncated());
  }
  if (total.compare(MAX_NS) > 0) throw new DurationError(`time: invalid duration ${JSON.stringify(text)}`);
  const ns = total.toNumber();
  return text.startsWith('-') && ns !== 0 ? -ns : ns;
}

/** Writes `.5` and `5.` in the notation of the language's numbers. */
function padded(number: string): string {
  return number.replace(/^\./u, '0.').replace(/\.$/u, '');
}
