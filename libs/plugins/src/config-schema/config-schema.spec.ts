import { readFileSync } from 'node:fs';
import { isSafeNumber, parse } from 'lossless-json';
import { describe, expect, it } from 'vitest';
import { ConfigError } from './config-decoder.js';
import { MAX_SCHEMA_DEPTH } from './config-part.js';
import { ConfigSchema } from './config-schema.js';
import type { SpecMessage } from './spec-message.js';
import { specText } from './spec-text.js';

interface Vector {
  readonly name: string;
  readonly spec: SpecMessage;
  readonly input: Record<string, unknown>;
  /** Hexadecimal. */
  readonly bytes?: string;
  readonly errors?: readonly string[];
}

/** Made by test/support/go-plugin/vectors with the reference's own libraries. */
const VECTORS = readFileSync(new URL('reference-vectors.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => parse(line, undefined, { parseNumber }) as Vector);

function parseNumber(text: string): number | bigint {
  return isSafeNumber(text) || !/^-?\d+$/.test(text) ? Number(text) : BigInt(text);
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Returns the bytes, or the faults by their summaries. */
function outcomeOf({ spec, input }: Vector): string | string[] {
  try {
    return hex(ConfigSchema.of(spec).encode(input));
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map(({ message }) => summaryOf(message)).toSorted();
  }
}

/** The reference has another summary for an unknown name in JSON than in HCL; PG-43 has that of HCL. */
const summaryOf = (fault: string): string =>
  fault.split(';')[0]!.replace('Extraneous JSON object property', 'Invalid argument name');

const attribute = (name: string, type: string, required = false): SpecMessage => ({ Attr: { name, type, required } });
const object = (attributes: Record<string, SpecMessage>): SpecMessage => ({ object: { attributes } });

describe('the configuration of a plugin', () => {
  it('PG-122, PG-44, PG-43: it has the bytes or the faults of the reference in each of the vectors', () => {
    expect(VECTORS.length).toBeGreaterThanOrEqual(200);
    const ours = VECTORS.map((vector) => [vector.name, outcomeOf(vector)]);
    const theirs = VECTORS.map(({ name, bytes, errors }) => [name, bytes ?? errors!.map(summaryOf).toSorted()]);
    expect(ours).toEqual(theirs);
  });

  it('PG-44: the vectors of the rule', () => {
    const schema = ConfigSchema.of(
      object({ a: attribute('a', 'number'), b: attribute('b', 'string'), c: attribute('c', 'any') }),
    );
    expect(hex(schema.encode({ c: [true, 'x'], a: 1 }))).toBe('83a16101a162c0a16392c3a178');
    const number = ConfigSchema.of(object({ v: attribute('v', 'number') }));
    expect(hex(number.encode({ v: 0.5 }))).toBe('81a176cb3fe0000000000000');
    expect(hex(number.encode({ v: 0.1 }))).toBe('81a176a3302e31');
  });

  it('PG-136, PG-43: faults name the argument', () => {
    const schema = ConfigSchema.of(
      object({ image: attribute('image', 'string', true), port: attribute('', 'number') }),
    );
    const faults = (config: Record<string, unknown>): string => {
      try {
        return hex(schema.encode(config));
      } catch (error) {
        return (error as ConfigError).message;
      }
    };
    expect(faults({ imag: 'x', port: 'http' }).split('\n')).toEqual([
      'Invalid argument name; No argument or block type is named "imag".',
      'Missing required argument; The argument "image" is required, but no definition was found.',
      'Incorrect attribute value type; Inappropriate value for attribute "port": a number is required.',
    ]);
    expect(faults({ image: null, port: 2n ** 53n + 1n })).toBe('82a5696d616765c0a4706f7274cf0020000000000001');
  });

  it('a name of the configuration that objects inherit is unknown like any other', () => {
    const schema = ConfigSchema.of(object({ v: attribute('v', 'string') }));
    expect(() => schema.encode(JSON.parse('{"constructor":1}') as Record<string, unknown>)).toThrow(/"constructor"/);
    expect(hex(ConfigSchema.of(object({ constructor: attribute('', 'string') })).encode({}))).toMatch(/c0$/);
  });

  it('PG-42: faults have places, and a value with ${…} is no fault', () => {
    const port = object({ to: attribute('', 'number', true) });
    const schema = ConfigSchema.of(
      object({
        image: attribute('', 'string', true),
        tries: attribute('', 'number'),
        port: { block_list: { name: 'port', nested: port } },
        env: { block_attrs: { name: 'env', type: 'number' } },
        mount: { block_map: { name: 'mount', labels: ['name'], nested: port } },
      }),
    );
    const config = {
      image: 'i',
      tries: 'many',
      port: [{ to: 1 }, { to: 'x', too: 1 }],
      env: { A: 'a' },
      mount: { data: {} },
    };
    expect(schema.faultsOf(config).map(({ path }) => path.join('/'))).toEqual([
      'tries',
      'port/1/too',
      'port/1/to',
      'env/A',
      'mount/data',
    ]);
    const later = { image: '${a}', tries: '${b}', port: [{ to: ['${c}'] }], env: { A: '${d}' } };
    expect(schema.faultsOf(later)).toEqual([]);
    expect(schema.faultsOf({ tries: '${b}', tri: '${b}' }).map(({ message }) => message)).toEqual([
      'Invalid argument name; No argument or block type is named "tri".',
      'Missing required argument; The argument "image" is required, but no definition was found.',
    ]);
    expect(() => schema.encode({ image: 'i', tries: '${b}' })).toThrow(/a number is required/);
  });

  it('PG-47: a schema travels to the servers as text, and refuses the same there', () => {
    for (const { spec, input } of VECTORS) {
      const text = specText(spec);
      expect(text).not.toContain('"required":false');
      expect(ConfigSchema.fromText(text).faultsOf(input)).toEqual(ConfigSchema.of(spec).faultsOf(input));
    }
    const full = { ...attribute('a', 'string'), object: null, block_list: null };
    expect(specText(object({ a: full }))).toBe('{"object":{"attributes":{"a":{"Attr":{"name":"a","type":"string"}}}}}');
    const counted = { block_list: { name: 'b', min_items: '0', max_items: '2', nested: full } };
    expect(specText(counted)).toContain('{"name":"b","max_items":"2",');
  });

  it('PG-42: a literal that the reference refuses is refused', () => {
    const literal = (value: string) => () => ConfigSchema.of(object({ v: { literal: { value } } }));
    expect(literal('hasindex({ a = 1 }, "a")')).toThrow(/must be a list, a map or a tuple, but have object/);
    expect(literal('hasindex("a", 0)')).toThrow(/must be a list, a map or a tuple, but have string/);
    expect(literal('int("a")')).toThrow(/number/);
    expect(literal('parseint("1", 10)')).toThrow(/parseint/);
  });

  it('a schema that is nested too deeply is refused', () => {
    let spec = attribute('a', 'string');
    for (let depth = 0; depth <= MAX_SCHEMA_DEPTH; depth++) spec = object({ a: spec });
    expect(() => ConfigSchema.of(spec)).toThrow(/nested more than/);
  });
});
