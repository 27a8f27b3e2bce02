import type { JsonObject } from './json.js';
import { bool, int8, labelled, type Schema, text, uint8, type Written } from './schema.js';

/** Shorthands in increasing precedence: of several, the last in the list wins (JS-150). */
const CONSTRAINT_SHORTHANDS = ['version', 'semver', 'regexp', 'set_contains', 'set_contains_all', 'set_contains_any'];
const AFFINITY_SHORTHANDS = ['version', 'semver', 'regexp', 'set_contains_any', 'set_contains_all', 'set_contains'];
/** These shorthands of a constraint become its operand without a value (JS-151). */
const PRESENCE = ['is_set', 'is_not_set'];

const OPERANDS = {
  attribute: text('LTarget', { named: true }),
  value: text('RTarget', { named: true }),
  operator: text('Operand', { named: true }),
};

const shorthands = (names: readonly string[]): Schema['attributes'] =>
  Object.fromEntries(names.map((name) => [name, text(`$${name}`, { named: true })]));

function withShorthand(json: JsonObject, { values }: Written, names: readonly string[]): JsonObject {
  const kept = { LTarget: json['LTarget'] ?? '', RTarget: json['RTarget'] ?? '', Operand: json['Operand'] || '=' };
  const used = names.findLast((name) => values.get(name) !== undefined && values.get(name) !== '');
  return used === undefined ? kept : { ...kept, Operand: used, RTarget: values.get(used) ?? '' };
}

export const constraintSchema: Schema = {
  attributes: {
    ...OPERANDS,
    ...shorthands(CONSTRAINT_SHORTHANDS),
    ...Object.fromEntries(PRESENCE.map((name) => [name, bool(`$${name}`, { named: true })])),
    distinct_hosts: bool('$distinct_hosts', { named: true }),
    distinct_property: text('$distinct_property', { named: true }),
  },
  blocks: {},
  shape: (json, written) => {
    const { values } = written;
    const constraint = withShorthand(json, written, CONSTRAINT_SHORTHANDS);
    const presence = PRESENCE.find((name) => values.get(name) === true);
    const hosts = values.get('distinct_hosts');
    const property = values.get('distinct_property');
    return {
      ...constraint,
      ...(presence === undefined ? {} : { Operand: presence }),
      ...(hosts === undefined ? {} : { Operand: 'distinct_hosts', RTarget: hosts === true ? 'true' : 'false' }),
      ...(property === undefined || property === ''
        ? {}
        : { Operand: 'distinct_property', LTarget: property, RTarget: json['RTarget'] ?? '' }),
    };
  },
};

export const affinitySchema: Schema = {
  attributes: {
    ...OPERANDS,
    ...shorthands(AFFINITY_SHORTHANDS),
    weight: int8('Weight', { canonical: 50 }),
  },
  blocks: {},
  shape: (json, written) => ({
    ...withShorthand(json, written, AFFINITY_SHORTHANDS),
    Weight: json['Weight'] ?? null,
  }),
};

const targetSchema: Schema = { attributes: { percent: uint8('Percent') }, blocks: {} };

export const spreadSchema: Schema = {
  attributes: { attribute: text('Attribute'), weight: int8('Weight', { canonical: 50 }) },
  blocks: { target: labelled('SpreadTarget', targetSchema, 'Value', '') },
};
