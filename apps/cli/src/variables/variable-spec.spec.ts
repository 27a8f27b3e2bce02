import { expect, it } from 'vitest';
import { wantedVariable, type SpecificationOptions } from './variable-spec.js';
import { EXAMPLE_VARIABLE_HCL, EXAMPLE_VARIABLE_JSON } from './example-variable.js';

const FILES: Readonly<Record<string, string>> = {
  'spec.hcl': 'path = "app/db"\nmodify_index = 7\nitems { user = "app" }',
  'spec.json': '{"Path":"app/db","Namespace":"team","ModifyIndex":9007199254740993,"Items":{"user":"app","old":"x"}}',
  plain: '{"Items":{"a":"b"}}',
  password: 'hush\n',
};

async function wanted(args: string, over: Partial<SpecificationOptions> = {}) {
  const odd: string[] = [];
  const variable = await wantedVariable(
    args.split(' '),
    { language: undefined, namespace: undefined, onOddKey: (key) => odd.push(key), ...over },
    {
      file: (name) =>
        FILES[name] === undefined ? Promise.reject(new Error(`no ${name}`)) : Promise.resolve(FILES[name]),
      stdin: () => Promise.resolve('from stdin'),
    },
  );
  return { ...variable, odd };
}

it('CL-853: items are arguments, files and stdin; an argument wins, an empty one removes', async () => {
  expect(await wanted('app/db user=root password=@password key=- at=\\@home eq=a=b')).toEqual({
    path: 'app/db',
    namespace: undefined,
    items: { user: 'root', password: 'hush\n', key: 'from stdin', at: '@home', eq: 'a=b' },
    modifyIndex: '0',
    odd: [],
  });
  expect((await wanted('@spec.json user=root old=')).items).toEqual({ user: 'root' });
  expect((await wanted('a some.key=x')).odd).toEqual(['some.key']);
  await expect(wanted('a x=- y=-')).rejects.toThrow('stdin can be read only once');
  await expect(wanted('a x')).rejects.toThrow('Invalid key/value pair "x": format must be key=value');
  await expect(wanted('a x=@none')).rejects.toThrow('Error reading the value of "x": no none');
  await expect(wanted('a')).rejects.toThrow('Variable items are required');
  await expect(wanted('@plain')).rejects.toThrow('Variable path is required');
});

it('CL-853: a specification in HCL or JSON; its index counts for its own variable only', async () => {
  const hcl = await wanted('@spec.hcl');
  expect(hcl).toMatchObject({ path: 'app/db', items: { user: 'app' }, modifyIndex: '7' });
  expect(await wanted('app/db @spec.hcl')).toMatchObject({ path: 'app/db', modifyIndex: '7' });
  expect(await wanted('other @spec.hcl')).toMatchObject({ path: 'other', modifyIndex: '0' });
  expect(await wanted('@spec.json')).toMatchObject({ namespace: 'team', modifyIndex: '9007199254740993' });
  expect(await wanted('@spec.json', { namespace: 'team' })).toMatchObject({ modifyIndex: '9007199254740993' });
  expect(await wanted('@spec.json', { namespace: 'other' })).toMatchObject({ namespace: 'other', modifyIndex: '0' });
  await expect(wanted('@spec.hcl', { language: 'json' })).rejects.toThrow('Error parsing the variable specification');
  expect((await wanted('a @plain')).items).toEqual({ a: 'b' });
});

it('CL-853: what var init writes can be put', async () => {
  for (const [language, text] of [
    ['hcl', EXAMPLE_VARIABLE_HCL],
    ['json', EXAMPLE_VARIABLE_JSON],
  ] as const) {
    const sources = { file: () => Promise.resolve(text), stdin: () => Promise.resolve('') };
    const options = { language, namespace: undefined, onOddKey: () => {} };
    expect(await wantedVariable(['@x'], options, sources)).toMatchObject({
      path: 'path/to/variable',
      items: { key1: 'value 1', key2: 'value 2' },
    });
  }
});
