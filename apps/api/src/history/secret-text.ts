import { type RedactedText, withTexts } from '@waybill/state';
import { badRequest } from '../http/api-error.js';

/** This text replaces a redacted value. */
export const REDACTED = '<redacted>';
/** The shortest value in characters. A shorter one occurs by chance. */
export const MIN_SECRET_CHARS = 6;
/** The longest value in characters: a private key of RSA-8192 with its lines. */
export const MAX_SECRET_CHARS = 16_384;

/** Members that are names of objects. Other objects refer to them, so they are never replaced. */
const NAMES: ReadonlySet<string> = new Set([
  'ID',
  'Name',
  'Namespace',
  'ParentID',
  'JobID',
  'TaskGroup',
  'Region',
  'Type',
  'NodePool',
  'Driver',
  'NodeID',
  'NodeName',
]);

/** The texts of a value that contain a secret. */
export interface SecretPlaces {
  /** Each text, and how it reads without the secret. */
  readonly texts: readonly RedactedText[];
  /** Paths of names that contain the secret, without the last part: they cannot be replaced. */
  readonly names: readonly string[];
}

/**
 * SecretText is a secret that is to be found and replaced: as it is, as part of a JSON or HCL text, and inside of texts
 * that are base64 as a whole, like the payload of a dispatched job. Another encoding of a secret is another text. Pure.
 * Cost of each method: a few searches of the text.
 */
export class SecretText {
  /** The forms of the secret in a text, the longest first, because one may contain another. */
  private readonly forms: readonly string[];
  /** The forms of the secret in a stored row. */
  readonly needles: readonly string[];

  /** @throws Refusal invalid if the value is no secret that can be searched for */
  constructor(value: string) {
    if (value.length < MIN_SECRET_CHARS || value.length > MAX_SECRET_CHARS)
      throw badRequest(`the value must have ${MIN_SECRET_CHARS} to ${MAX_SECRET_CHARS} characters`);
    if (value.trim() === '' || REDACTED.includes(value)) throw badRequest('the value is no secret');
    if (UNSEARCHABLE.some((char) => value.includes(char)) || Buffer.from(value).toString() !== value)
      throw badRequest('the value contains a character that no text in the history can contain');
    this.forms = distinct([escaped(value), value]);
    // A row is JSON, so a text in it is escaped once more.
    this.needles = distinct([...this.forms, ...this.forms.map(escaped), ...this.forms.flatMap(base64Forms)]);
  }

  isIn(text: string): boolean {
    return this.forms.some((form) => text.includes(form)) || this.decoded(text) !== undefined;
  }

  text(text: string): string {
    const decoded = this.decoded(text);
    if (decoded !== undefined) {
      const redacted = this.forms.reduce((left, form) => left.replaceAll(bytesOf(form), REDACTED), decoded);
      return Buffer.from(redacted, 'latin1').toString('base64');
    }
    return this.forms.reduce((left, form) => left.replaceAll(form, REDACTED), text);
  }

  /** Replaces the secret in all texts of a JSON value except names. Returns the same value if there is none. */
  json(value: unknown): unknown {
    const { texts } = this.places(value);
    if (typeof value === 'string') return this.text(value);
    return typeof value === 'object' && value !== null && texts.length > 0 ? withTexts(value, texts) : value;
  }

  places(value: unknown): SecretPlaces {
    const texts: RedactedText[] = [];
    const names: string[] = [];
    const look = (part: unknown, path: readonly (string | number)[]): void => {
      if (typeof part === 'string') {
        if (!this.isIn(part)) return;
        if (NAMES.has(String(path.at(-1)))) names.push(path.slice(0, -1).join('.'));
        else texts.push({ Path: path, Text: this.text(part) });
      } else if (Array.isArray(part)) part.forEach((member, at) => look(member, [...path, at]));
      else if (typeof part === 'object' && part !== null)
        for (const [name, member] of Object.entries(part)) {
          if (this.isIn(name)) names.push(path.join('.'));
          look(member, [...path, name]);
        }
    };
    look(value, []);
    return { texts, names };
  }

  /** Returns the bytes behind base64, one character for each, if they contain the secret. */
  private decoded(text: string): string | undefined {
    if (text.length % 4 !== 0 || !BASE64.test(text)) return undefined;
    const decoded = Buffer.from(text, 'base64').toString('latin1');
    return this.forms.some((form) => decoded.includes(bytesOf(form))) ? decoded : undefined;
  }
}

/** Returns the bytes of a text in UTF-8, one character for each. */
const bytesOf = (text: string): string => Buffer.from(text).toString('latin1');

/** Characters that PostgreSQL stores in another form. */
const UNSEARCHABLE = ['\u0000', '\ue000'];

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];

/** Returns the text in the form that it has inside of quotes. */
const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** Returns the base64 of a text at each of the three positions, without the characters that its neighbours change. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value);
  return [0, 1, 2].map((before) => {
    const whole = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replaceAll('=', '');
    const skipped = Math.ceil((before * 8) / 6);
    const known = Math.floor(((before + bytes.length) * 8) / 6);
    return whole.slice(skipped, known);
  });
}
