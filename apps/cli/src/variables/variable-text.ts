import type { Answer } from '../server/api-client.js';
import { CommandFailure } from '../failure.js';
import type { Flag } from '../flags/flag.js';
import type { ParsedFlags } from '../flags/parsed-flags.js';
import { renderer } from '../terminal/data-printer.js';
import { type ExactJson, formatExact, membersOf } from '../terminal/exact-json.js';
import { sortedEntries } from '../terminal/sorted-entries.js';
import { keyValues, table } from '../terminal/table.js';
import type { Terminal } from '../terminal/terminal.js';
import { absoluteTime } from '../terminal/times.js';
import type { Variable, VariableStub } from './variable.js';

/** The output format of variables. */
export type OutForm = 'table' | 'terse' | 'json' | 'hcl' | 'go-template' | 'none';

/** The flag `-out` and the flags that depend on it. */
export const outFlags = (forms: readonly OutForm[], usual: OutForm): readonly Flag[] => [
  {
    name: 'out',
    kind: 'text',
    value: forms.join('|'),
    help: `How to print it (${usual} on a terminal, otherwise json).`,
  },
  { name: 'template', kind: 'text', value: 'template', help: 'Go template of -out=go-template.' },
];

/** Evaluates `-out` (CL-851). @throws CommandFailure */
export function outForm(
  flags: ParsedFlags,
  { options }: Pick<Terminal, 'options'>,
  forms: readonly OutForm[],
  usual: OutForm,
): OutForm {
  const given = flags.text('out') || (options.interactive ? usual : 'json');
  const form = forms.find((one) => one === given);
  if (form === undefined) throw new CommandFailure(`Invalid value for "-out"; valid values are [${forms.join(', ')}]`);
  const template = flags.text('template');
  if (form === 'go-template' && template === undefined)
    throw new CommandFailure("A template must be supplied using '-template' when using go-template formatting");
  if (form !== 'go-template' && template !== undefined)
    throw new CommandFailure(`The '-template' flag is only valid when using 'go-template' formatting`);
  return form;
}

/** Formats a variable, or returns undefined for no output. @throws CommandFailure if the template does not fit */
export async function variableText(
  form: OutForm,
  template: string,
  { value, exact }: Pick<Answer<Variable>, 'value' | 'exact'>,
): Promise<string | undefined> {
  switch (form) {
    case 'none':
    case 'terse':
      return undefined;
    case 'json':
      return formatExact(exact);
    case 'go-template':
      return (await renderer(template))(exact);
    case 'hcl':
      return hclOf(value, exact);
    case 'table':
      return tableOf(value);
  }
}

/** Formats the table of `var list` (CL-851). */
export const variableTable = (variables: readonly VariableStub[]): string =>
  table([
    ['Namespace', 'Path', 'Last Updated'],
    ...variables.map(({ Namespace, Path, ModifyTime }) => [Namespace, Path, absoluteTime(ModifyTime)]),
  ]);

/** Formats the properties and the items for `var get` (CL-852). */
function tableOf({ Namespace, Path, CreateTime, ModifyTime, ModifyIndex, Items = {} }: Variable): string {
  const [created, modified] = [absoluteTime(CreateTime), absoluteTime(ModifyTime)];
  return [
    keyValues([
      ['Namespace', Namespace],
      ['Path', Path],
      ['Create Time', created],
      ...(ModifyTime === CreateTime ? [] : [['Modify Time', modified] as const]),
      ['Check Index', String(ModifyIndex)],
    ]),
    '',
    'Items',
    keyValues(sortedEntries(Items)),
  ].join('\n');
}

/** Formats a variable in the form that `var put` reads. */
function hclOf({ Items = {} }: Variable, exact: ExactJson): string {
  const members = membersOf(exact);
  const said = (name: string): string => formatExact(members[name] ?? '', 0);
  const key = (name: string): string => (/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name) ? name : hclText(name));
  return [
    `namespace    = ${said('Namespace')}`,
    `path         = ${said('Path')}`,
    `create_index = ${said('CreateIndex')}`,
    `modify_index = ${said('ModifyIndex')}`,
    `create_time  = ${said('CreateTime')}`,
    `modify_time  = ${said('ModifyTime')}`,
    '',
    'items = {',
    ...sortedEntries(Items).map(([name, value]) => `  ${key(name)} = ${hclText(value)}`),
    '}',
  ].join('\n');
}

/** Formats a text of HCL like JSON, with the start of a template written as an escape. */
const hclText = (text: string): string =>
  JSON.stringify(text).replaceAll('${', '\\u0024{').replaceAll('%{', '\\u0025{');
