import { constants, createHash, privateDecrypt, randomUUID } from 'node:crypto';
import { type Json, isJsonObject } from '../decoding/json.js';
import { Decimal } from '../evaluation/decimal.js';
import { normalised } from '../evaluation/normal-form.js';
import { Mapping, tuple, type Value } from '../evaluation/value.js';
import { MAX_NESTING } from '../limits.js';
import { csvDecoded } from './csv-function.js';
import { FunctionError, type LanguageFunction } from './function-table.js';
import { goJson } from './go-json.js';
import { nullable, of, onText, str, textOf } from './parameters.js';

const hash = (algorithm: string): LanguageFunction =>
  onText((text) => createHash(algorithm).update(text, 'utf8').digest('hex'));

export const ENCODING_FUNCTIONS: Readonly<Record<string, LanguageFunction>> = {
  base64encode: onText((text, budget) => budget.text(Buffer.from(text, 'utf8').toString('base64'))),
  base64decode: onText((text) => utf8(base64(text))),
  jsonencode: of([nullable('val')], ([value = null], budget) => budget.text(goJson(value))),
  jsondecode: onText((text, budget) => {
    budget.spend(text.length >> 2);
    return decodedJson(text);
  }),
  csvdecode: onText(csvDecoded),
  urlencode: onText((text) => urlEncoded(text)),
  md5: hash('md5'),
  sha1: hash('sha1'),
  sha256: hash('sha256'),
  sha512: hash('sha512'),
  rsadecrypt: of([str('ciphertext'), str('privatekey')], ([text, key]) => decrypted(textOf(text), textOf(key))),
  uuidv4: of([], () => randomUUID()),
  uuidv5: of([str('namespace'), str('name')], ([namespace, name]) => uuidV5(textOf(namespace), textOf(name))),
};

function base64(text: string): Buffer {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/u.test(text))
    throw new FunctionError('failed to decode base64 data');
  return Buffer.from(text, 'base64');
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FunctionError('the result of decoding the provided string is not valid UTF-8');
  }
}

/** A string or a number of JSON. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/gu;

/** Decodes JSON with all digits of numbers. JavaScript's parser would round them, so it gets them as marked strings. */
function decodedJson(text: string): Value {
  try {
    JSON.parse(text);
    const marked = text.replaceAll(STRING_OR_NUMBER, (one) =>
      one.startsWith('"') ? `"s${one.slice(1)}` : `"n${one}"`,
    );
    const json: Json = JSON.parse(marked);
    return valueOf(json, MAX_NESTING);
  } catch (error) {
    if (error instanceof SyntaxError) throw new FunctionError(error.message);
    throw error;
  }
}

function valueOf(json: Json, depth: number): Value {
  if (depth === 0) throw new FunctionError('the JSON is nested too deeply');
  if (typeof json === 'string')
    return json.startsWith('n') ? (Decimal.parse(json.slice(1)) ?? Decimal.ZERO) : normalised(json.slice(1));
  if (Array.isArray(json)) return tuple(json.map((item) => valueOf(item, depth - 1)));
  if (isJsonObject(json))
    return new Mapping(
      'object',
      Object.entries(json).map(([key, item]) => [normalised(key.slice(1)), valueOf(item, depth - 1)]),
    );
  if (typeof json === 'number') return Decimal.ofDouble(json); // All of them were marked.
  return json;
}

/** Encodes like a form: a space becomes a plus. */
function urlEncoded(text: string): string {
  return encodeURIComponent(Buffer.from(text, 'utf8').toString('utf8'))
    .replaceAll(/[!'()*]/gu, (one) => `%${(one.codePointAt(0) ?? 0).toString(16).toUpperCase()}`)
    .replaceAll('%20', '+');
}

function decrypted(text: string, key: string): string {
  try {
    return utf8(privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, base64(text)));
  } catch (error) {
    if (error instanceof FunctionError) throw error;
    throw new FunctionError('failed to decrypt: wrong key or damaged text');
  }
}

const NAMESPACES: Readonly<Record<string, string>> = {
  dns: '6ba7b810-9dad-11d1-80b4-00c04fd430c8',
  url: '6ba7b811-9dad-11d1-80b4-00c04fd430c8',
  oid: '6ba7b812-9dad-11d1-80b4-00c04fd430c8',
  x500: '6ba7b814-9dad-11d1-80b4-00c04fd430c8',
};
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/u;

function uuidV5(namespace: string, name: string): string {
  const id = NAMESPACES[namespace] ?? namespace.toLowerCase();
  if (!UUID.test(id)) throw new FunctionError(`uuidv5() doesn't support namespace "${namespace}"`);
  const bytes = createHash('sha1')
    .update(Buffer.from(id.replaceAll('-', ''), 'hex'))
    .update(name, 'utf8')
    .digest()
    .subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
