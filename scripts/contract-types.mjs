// Types of the API's answers for the pages, from the API's own description. Pure: a document in, TypeScript out.

/**
 * @typedef {object} Schema what is used of JSON Schema
 * @property {string} [$ref]
 * @property {string} [type]
 * @property {readonly string[]} [enum]
 * @property {readonly Schema[]} [anyOf]
 * @property {Schema} [items]
 * @property {Schema | boolean} [additionalProperties]
 * @property {Readonly<Record<string, Schema>>} [properties]
 * @property {readonly string[]} [required]
 */

/**
 * @typedef {object} OperationObject
 * @property {Record<string, { content?: Record<string, { schema: Schema }> }>} responses
 */

/** @typedef {{ paths: Record<string, Record<string, OperationObject>>, components: { schemas: Record<string, Schema> } }} Document */

const HEAD = `// Written by \`npm run ui:contract\` from /v1/waybill/openapi.json. Do not edit: \`npm run check\` compares it.
`;

/** @param {string} name */
const memberName = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : `'${name}'`);

/** @param {string} ref */
const nameOf = (ref) => ref.slice(ref.lastIndexOf('/') + 1);

/**
 * @param {Schema} schema
 * @returns {string}
 */
function typeOf(schema) {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.enum) return schema.enum.map((value) => `'${value}'`).join(' | ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' | ');
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'integer':
    case 'number':
      return 'number';
    case 'array':
      return `readonly ${inBrackets(typeOf(schema.items ?? {}))}[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

/** @param {string} type */
const inBrackets = (type) => (/[ |]/.test(type) && !type.startsWith('{') ? `(${type})` : type);

/**
 * @param {Schema} schema
 * @returns {string}
 */
function objectType({ properties, required = [], additionalProperties }) {
  if (properties === undefined) {
    const values = typeof additionalProperties === 'object' ? typeOf(additionalProperties) : 'unknown';
    return `Readonly<Record<string, ${values}>>`;
  }
  const members = Object.entries(properties).map(
    ([name, one]) => `readonly ${memberName(name)}${required.includes(name) ? '' : '?'}: ${typeOf(one)};`,
  );
  return `{ ${members.join(' ')} }`;
}

/**
 * @param {unknown} part of a document
 * @returns {string[]} the schemas that it names
 */
function namedIn(part) {
  if (Array.isArray(part)) return part.flatMap(namedIn);
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    key === '$ref' && typeof value === 'string' ? [nameOf(value)] : namedIn(value),
  );
}

/**
 * One type per schema that an answer needs, and `Answers`: the answer of each method and path.
 *
 * @param {Document} document
 * @returns {string}
 */
export function contractTypes({ paths, components: { schemas } }) {
  const answers = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const schema = operation.responses['200']?.content?.['application/json']?.schema;
      return schema === undefined ? [] : [{ key: `${method.toUpperCase()} ${path}`, schema }];
    }),
  );
  /** @type {Set<string>} */
  const needed = new Set();
  const open = answers.flatMap(({ schema }) => namedIn(schema));
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (needed.has(name)) continue;
    needed.add(name);
    open.push(...namedIn(schemas[name]));
  }
  return [
    HEAD,
    ...[...needed].toSorted().map((name) => `export type ${name} = ${typeOf(schemas[name] ?? {})};`),
    '',
    '/** By method and path: what a request that succeeds is answered. */',
    'export interface Answers {',
    ...answers.map(({ key, schema }) => `  '${key}': ${typeOf(schema)};`),
    '}',
    '',
  ].join('\n');
}
