// Pairs of a schema and an input, for which the reference's libraries give the answers.
const types = [
  'string',
  'number',
  'bool',
  'any',
  'list(string)',
  'list(number)',
  'set(string)',
  'map(string)',
  'map(number)',
  'object({a = string, b = number})',
  'tuple([string, number])',
  'list(map(string))',
];
const inputs = [
  '"text"',
  '"5"',
  '"0.1"',
  '"true"',
  '5',
  '-1',
  '-33',
  '255',
  '65536',
  '-2147483649',
  '0.5',
  '0.1',
  '9007199254740993',
  '18446744073709551616',
  '1e30',
  'true',
  'null',
  '[]',
  '["b","a","b"]',
  '[1,"2"]',
  '{}',
  '{"a":"x","b":"1"}',
  '{"a":1}',
  '[{"a":1}]',
];
const cases = [];
const add = (name, spec, raw) => cases.push({ name, spec, raw });
const attr = (name, type, required = false) => ({ Attr: { name, type, required } });
const object = (attributes) => ({ object: { attributes } });
const scalars = 4;
for (const [i, type] of types.entries())
  for (const [j, input] of inputs.entries())
    if (i < scalars || j % 4 === 1 || j >= 16)
      add(`${type} from ${input}`, object({ v: attr('v', type) }), `{"v":${input}}`);
const inner = object({ host: attr('host', 'string', true), port: attr('', 'number') });
const list = (min, max) =>
  object({ mount: { block_list: { name: 'mount', min_items: min, max_items: max, nested: inner } } });
const cases2 = [
  ['absent attribute', object({ v: attr('v', 'string'), w: attr('w', 'number') }), '{}'],
  ['required attribute absent', object({ v: attr('v', 'string', true) }), '{}'],
  ['required attribute null', object({ v: attr('v', 'string', true) }), '{"v":null}'],
  ['unknown name', object({ v: attr('v', 'string') }), '{"x":1}'],
  ['name from the key', object({ v: attr('', 'string') }), '{"v":"a"}'],
  ['another name than the key', object({ v: attr('w', 'string') }), '{"w":"a"}'],
  [
    'default taken',
    object({ v: { default: { primary: attr('v', 'string'), default: { literal: { value: '"5m"' } } } } }),
    '{}',
  ],
  [
    'default not taken',
    object({ v: { default: { primary: attr('v', 'string'), default: { literal: { value: '"5m"' } } } } }),
    '{"v":"6m"}',
  ],
  [
    'default for null',
    object({ v: { default: { primary: attr('v', 'bool'), default: { literal: { value: 'true' } } } } }),
    '{"v":null}',
  ],
  ['literal number', object({ v: { literal: { value: '-1' } } }), '{}'],
  ['literal float', object({ v: { literal: { value: '0.1' } } }), '{}'],
  ['literal list', object({ v: { literal: { value: '["a", 1]' } } }), '{}'],
  ['literal object', object({ v: { literal: { value: '{ a = 1, b = [true] }' } } }), '{}'],
  ['literal call', object({ v: { literal: { value: 'upper("abc")' } } }), '{}'],
  ['literal calls', object({ v: { literal: { value: 'concat(["a"], [lower("B")])' } } }), '{}'],
  ['literal max', object({ v: { literal: { value: 'max(1, 7, 3)' } } }), '{}'],
  ['literal null', object({ v: { literal: { value: 'null' } } }), '{}'],
  ...[
    'int(1.9)',
    'int(-1.9)',
    'int(7)',
    'int(-0.5)',
    'int("2.5")',
    'hasindex(["a"], 0)',
    'hasindex(["a"], 1)',
    'hasindex(["a"], -1)',
    'hasindex(["a"], 0.5)',
    'hasindex(["a"], "0")',
    'hasindex([], 0)',
  ].map((call) => [`literal ${call}`, object({ v: { literal: { value: call } } }), '{}']),
  ['block value', object({ b: { block_value: { name: 'b', nested: inner } } }), '{"b":{"host":"h","port":1}}'],
  ['block value as list', object({ b: { block_value: { name: 'b', nested: inner } } }), '{"b":[{"host":"h"}]}'],
  [
    'block value twice',
    object({ b: { block_value: { name: 'b', nested: inner } } }),
    '{"b":[{"host":"h"},{"host":"i"}]}',
  ],
  ['block value absent', object({ b: { block_value: { name: 'b', nested: inner } } }), '{}'],
  ['block value required', object({ b: { block_value: { name: 'b', required: true, nested: inner } } }), '{}'],
  ['block value empty list', object({ b: { block_value: { name: 'b', required: true, nested: inner } } }), '{"b":[]}'],
  ['block value null', object({ b: { block_value: { name: 'b', nested: inner } } }), '{"b":null}'],
  ['block value of text', object({ b: { block_value: { name: 'b', nested: inner } } }), '{"b":"x"}'],
  ['unknown in block', object({ b: { block_value: { name: 'b', nested: inner } } }), '{"b":{"host":"h","x":1}}'],
  ['missing in block', object({ b: { block_value: { name: 'b', nested: inner } } }), '{"b":{}}'],
  [
    'two errors',
    object({ b: { block_value: { name: 'b', nested: inner } }, v: attr('v', 'number') }),
    '{"b":{},"v":"x","z":1}',
  ],
  ['block list', list(0, 0), '{"mount":[{"host":"a"},{"host":"b","port":2}]}'],
  ['block list of an object', list(0, 0), '{"mount":{"host":"a"}}'],
  ['block list absent', list(0, 0), '{}'],
  ['block list too few', list(2, 0), '{"mount":{"host":"a"}}'],
  ['block list one too few', list(1, 0), '{}'],
  ['block list too many', list(0, 1), '{"mount":[{"host":"a"},{"host":"b"}]}'],
  [
    'block set',
    object({ mount: { block_set: { name: 'mount', nested: inner } } }),
    '{"mount":[{"host":"b"},{"host":"a"},{"host":"b"}]}',
  ],
  ['block set absent', object({ mount: { block_set: { name: 'mount', nested: inner } } }), '{}'],
  ['block attrs', object({ l: { block_attrs: { name: 'l', type: 'string' } } }), '{"l":{"b":"x","a":1,"c":true}}'],
  ['block attrs as list', object({ l: { block_attrs: { name: 'l', type: 'string' } } }), '{"l":[{"b":"x"}]}'],
  ['block attrs twice', object({ l: { block_attrs: { name: 'l', type: 'string' } } }), '{"l":[{"b":"x"},{"c":"y"}]}'],
  ['block attrs absent', object({ l: { block_attrs: { name: 'l', type: 'string' } } }), '{}'],
  ['block attrs required', object({ l: { block_attrs: { name: 'l', type: 'string', required: true } } }), '{}'],
  ['block attrs empty', object({ l: { block_attrs: { name: 'l', type: 'number' } } }), '{"l":{}}'],
  ['block attrs wrong', object({ l: { block_attrs: { name: 'l', type: 'number' } } }), '{"l":{"a":"x"}}'],
  [
    'block map',
    object({ m: { block_map: { name: 'm', labels: ['name'], nested: inner } } }),
    '{"m":{"b":{"host":"h"},"a":{"host":"i","port":3}}}',
  ],
  [
    'block map as list',
    object({ m: { block_map: { name: 'm', labels: ['name'], nested: inner } } }),
    '{"m":[{"b":{"host":"h"}},{"a":{"host":"i"}}]}',
  ],
  [
    'block map of two labels',
    object({ m: { block_map: { name: 'm', labels: ['x', 'y'], nested: inner } } }),
    '{"m":{"b":{"c":{"host":"h"}},"a":{"d":[{"host":"i"}]}}}',
  ],
  ['block map absent', object({ m: { block_map: { name: 'm', labels: ['name'], nested: inner } } }), '{}'],
  [
    'block map label twice',
    object({ m: { block_map: { name: 'm', labels: ['name'], nested: inner } } }),
    '{"m":[{"b":{"host":"h"}},{"b":{"host":"i"}}]}',
  ],
  ['array', { array: { values: [attr('a', 'string'), attr('b', 'bool')] } }, '{"a":"x"}'],
  ['nested object', object({ o: object({ a: attr('a', 'string'), b: attr('', 'bool') }) }), '{"a":"x","b":true}'],
  ['text of 40 characters', object({ v: attr('v', 'string') }), `{"v":"${'a'.repeat(40)}"}`],
  ['text of 300 characters', object({ v: attr('v', 'string') }), `{"v":"${'ä'.repeat(150)}"}`],
  [
    'list of 20',
    object({ v: attr('v', 'list(number)') }),
    JSON.stringify({ v: Array.from({ length: 20 }, (_, i) => i) }),
  ],
  [
    'names in order',
    object({ c: attr('', 'string'), a: attr('', 'string'), b: attr('', 'string') }),
    '{"b":"1","a":"2","c":"3"}',
  ],
  ['names of digits', object({ v: attr('v', 'map(number)') }), '{"v":{"10":1,"9":2,"a":3}}'],
  [
    'default of a block list',
    object({
      m: {
        default: {
          primary: { block_value: { name: 'm', nested: inner } },
          default: { literal: { value: '{ host = "d", port = 1 }' } },
        },
      },
    }),
    '{}',
  ],
];
for (const [name, spec, input] of cases2) add(name, spec, input);
const text = cases
  .map(({ name, spec, raw }) => `{"name":${JSON.stringify(name)},"spec":${JSON.stringify(spec)},"input":${raw}}`)
  .join(',\n');
process.stdout.write(`[\n${text}\n]\n`);
