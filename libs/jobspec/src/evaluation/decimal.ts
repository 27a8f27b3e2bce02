import { MAX_NUMBER_EXPONENT, NUMBER_DIGITS } from '../limits.js';

/** A result is outside the numbers of the language. The evaluator adds the position. */
export class NumberOutOfRange extends Error {
  override readonly name = 'NumberOutOfRange';
}

/** Binary digits of the reference's numbers. */
const BINARY_DIGITS = 512;

const NOTATION = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * An exact decimal number (JS-35): `digits` divided by ten to the power of `scale`, without trailing zeros, cut to
 * NUMBER_DIGITS significant digits. It can also be an infinity, which only a division by zero creates.
 */
export class Decimal {
  static readonly ZERO = new Decimal(0n, 0);

  private constructor(
    private readonly digits: bigint,
    private readonly scale: number,
    private readonly infinite = false,
  ) {}

  static of(whole: number | bigint): Decimal {
    return Decimal.made(BigInt(whole), 0);
  }

  /** Converts a double by its shortest notation. */
  static ofDouble(value: number): Decimal {
    if (!Number.isFinite(value)) throw new NumberOutOfRange('the result is not a number');
    return Decimal.parse(String(value)) ?? Decimal.ZERO;
  }

  /** Like `ofDouble`, and accepts an infinity. @throws NumberOutOfRange for NaN */
  static ofFloat(value: number): Decimal {
    return Math.abs(value) === Infinity ? Decimal.infinity(value) : Decimal.ofDouble(value);
  }

  /** Returns undefined if the text is not a number. @throws NumberOutOfRange */
  static parse(text: string): Decimal | undefined {
    const found = NOTATION.exec(text);
    if (!found) return undefined;
    const [, sign, whole = '', fraction = '', exponent = '0'] = found;
    const digits = BigInt(whole + fraction);
    return Decimal.made(sign === '-' ? -digits : digits, fraction.length - Number(exponent));
  }

  private static made(digits: bigint, scale: number): Decimal {
    if (digits === 0n) return Decimal.ZERO;
    let text = String(digits);
    const negative = text.startsWith('-') ? 1 : 0;
    const surplus = text.length - negative - NUMBER_DIGITS;
    if (surplus > 0) text = text.slice(0, -surplus);
    const cut = surplus > 0 ? scale - surplus : scale;
    const bare = text.replace(/0+$/, '');
    const zeros = text.length - bare.length;
    if (Math.abs(cut - zeros) > MAX_NUMBER_EXPONENT) throw new NumberOutOfRange('the number is out of range');
    return new Decimal(BigInt(bare), cut - zeros);
  }

  get isWhole(): boolean {
    return !this.infinite && this.scale <= 0;
  }

  get isInfinite(): boolean {
    return this.infinite;
  }

  get sign(): -1 | 0 | 1 {
    if (this.digits === 0n) return 0;
    return this.digits < 0n ? -1 : 1;
  }

  negated(): Decimal {
    return new Decimal(-this.digits, this.scale, this.infinite);
  }

  plus(other: Decimal): Decimal {
    if (this.infinite || other.infinite) {
      if (this.infinite && other.infinite && this.sign !== other.sign)
        throw new NumberOutOfRange('the result is not a number');
      return this.infinite ? this : other;
    }
    const scale = Math.max(this.scale, other.scale);
    return Decimal.made(this.at(scale) + other.at(scale), scale);
  }

  minus(other: Decimal): Decimal {
    return this.plus(other.negated());
  }

  times(other: Decimal): Decimal {
    if (this.infinite || other.infinite) {
      if (this.sign * other.sign === 0) throw new NumberOutOfRange('the result is not a number');
      return Decimal.infinity(this.sign * other.sign);
    }
    return Decimal.made(this.digits * other.digits, this.scale + other.scale);
  }

  /** Divides. A division by zero gives an infinity. */
  dividedBy(other: Decimal): Decimal {
    if (other.sign === 0) {
      if (this.sign === 0) throw new NumberOutOfRange("can't divide zero by zero or infinity by infinity");
      return Decimal.infinity(this.sign);
    }
    if (other.infinite) {
      if (this.infinite) throw new NumberOutOfRange("can't divide zero by zero or infinity by infinity");
      return Decimal.ZERO;
    }
    if (this.infinite) return Decimal.infinity(this.sign * other.sign);
    const extra = NUMBER_DIGITS + Math.max(0, digitsIn(other.digits) - digitsIn(this.digits)) + 1;
    return Decimal.made((this.digits * 10n ** BigInt(extra)) / other.digits, this.scale - other.scale + extra);
  }

  /** Returns the remainder with the sign of the dividend (JS-34). For a division by zero it is the dividend. */
  remainder(other: Decimal): Decimal {
    if (this.infinite) throw new NumberOutOfRange("can't divide an infinite number");
    if (other.sign === 0 || other.infinite) return this;
    const scale = Math.max(this.scale, other.scale);
    return Decimal.made(this.at(scale) % other.at(scale), scale);
  }

  /** Rounds towards zero. */
  truncated(): Decimal {
    if (this.infinite || this.scale <= 0) return this;
    return Decimal.made(this.digits / 10n ** BigInt(this.scale), 0);
  }

  /**
   * Rounds to `places` decimal places, or to tens if negative. Halfway between two numbers, the reference decides by
   * its binary number of 512 bits instead of the decimal one, and chooses the even neighbour if that number is exact.
   */
  rounded(places: number): Decimal {
    if (this.infinite || this.scale <= places) return this;
    const unit = 10n ** BigInt(this.scale - places);
    const magnitude = this.digits < 0n ? -this.digits : this.digits;
    const [kept, twice] = [magnitude / unit, (magnitude % unit) * 2n];
    const isAway =
      twice === unit ? this.binaryExcess() > 0 || (this.binaryExcess() === 0 && kept % 2n === 1n) : twice > unit;
    const rounded = isAway ? kept + 1n : kept;
    return Decimal.made(this.digits < 0n ? -rounded : rounded, places);
  }

  /**
   * Returns the digits without leading and trailing zeros, and the power of ten of the first digit. Zero gives "0" and
   * 0.
   */
  scientific(): { readonly digits: string; readonly exponent: number } {
    const digits = String(this.digits < 0n ? -this.digits : this.digits);
    return { digits, exponent: this.digits === 0n ? 0 : digits.length - 1 - this.scale };
  }

  floor(): Decimal {
    const whole = this.truncated();
    return whole.compare(this) > 0 ? whole.minus(Decimal.of(1)) : whole;
  }

  compare(other: Decimal): number {
    if (this.infinite || other.infinite) {
      return (this.infinite ? this.sign : 0) - (other.infinite ? other.sign : 0);
    }
    const scale = Math.max(this.scale, other.scale);
    const [mine, its] = [this.at(scale), other.at(scale)];
    if (mine === its) return 0;
    return mine < its ? -1 : 1;
  }

  /** @throws NumberOutOfRange unless the number is whole */
  toBigInt(): bigint {
    if (!this.isWhole) throw new NumberOutOfRange('value must be a whole number');
    return this.at(0);
  }

  toNumber(): number {
    if (this.infinite) return this.sign * Infinity;
    return Number(this.toString());
  }

  /** Returns the shortest decimal notation without an exponent. */
  toString(): string {
    if (this.infinite) return this.sign < 0 ? '-Inf' : 'Inf';
    if (this.scale <= 0) return String(this.at(0));
    const negative = this.digits < 0n;
    const text = String(negative ? -this.digits : this.digits).padStart(this.scale + 1, '0');
    const point = text.length - this.scale;
    return `${negative ? '-' : ''}${text.slice(0, point)}.${text.slice(point)}`;
  }

  private static infinity(sign: number): Decimal {
    return new Decimal(sign < 0 ? -1n : 1n, 0, true);
  }

  /** Compares the magnitude of the nearest binary number of 512 bits: larger (1), equal (0) or smaller (-1). */
  private binaryExcess(): -1 | 0 | 1 {
    if (this.scale <= 0) return 0;
    const numerator = this.digits < 0n ? -this.digits : this.digits;
    const denominator = 10n ** BigInt(this.scale);
    let shift = BigInt(BINARY_DIGITS + bitsIn(denominator) - bitsIn(numerator));
    if ((numerator << shift) / denominator >= 1n << BigInt(BINARY_DIGITS)) shift -= 1n;
    const scaled = numerator << shift;
    const [kept, twice] = [scaled / denominator, (scaled % denominator) * 2n];
    if (twice === 0n) return 0;
    return twice > denominator || (twice === denominator && kept % 2n === 1n) ? 1 : -1;
  }

  private at(scale: number): bigint {
    return this.digits * 10n ** BigInt(scale - this.scale);
  }
}

const bitsIn = (number: bigint): number => number.toString(2).length;

function digitsIn(digits: bigint): number {
  return String(digits < 0n ? -digits : digits).length;
}
