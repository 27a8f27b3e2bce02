import type { ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { isNotFound } from '../server/api-failure.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';
import { forbidWildcard, type Variable, variableUrl } from '../variables/variable.js';
import { outFlags, type OutForm, outForm, variableText } from '../variables/variable-text.js';

const FORMS: readonly OutForm[] = ['table', 'json', 'hcl', 'go-template', 'none'];

/** Prints a variable or one of its items (CL-852). */
export const command: ServerCommand = {
  usage: '<path>',
  description: 'Shows a variable with its items.\n\nNeeds the capability read of its path.',
  flags: [
    { name: 'item', kind: 'text', value: 'key', help: 'Print the value of this item alone, without a newline.' },
    ...outFlags(FORMS, 'table'),
    UI_FLAG,
  ],
  takes: { min: 1, max: 1, otherwise: 'This command takes one argument: <path>' },
  async run(call) {
    const { api, args, flags, terminal } = call;
    const [path = ''] = args;
    forbidWildcard(call);
    const item = flags.text('item');
    if (item !== undefined && (flags.text('out') ?? flags.text('template')) !== undefined)
      throw new CommandFailure('-item prints one value as it is: it takes neither -out nor -template');
    const form = outForm(flags, terminal, FORMS, 'table');
    const answer = await api.get<Variable>(variableUrl(path)).catch((error: unknown) => {
      throw isNotFound(error) ? new CommandFailure('Variable not found') : failed('retrieving variable', error);
    });
    if (item !== undefined) {
      const value = Object.entries(answer.value.Items ?? {}).find(([key]) => key === item)?.[1];
      if (value === undefined) throw new CommandFailure(`Variable does not contain "${item}" item`);
      await terminal.bytes(value);
      return 0;
    }
    const text = await variableText(form, flags.text('template') ?? '', answer);
    if (text !== undefined) terminal.print(text);
    if (form === 'table') {
      const { Path, Namespace } = answer.value;
      await webHint(call, 'View and manage this variable', `/variables/var/${Path}@${Namespace}`);
    }
    return 0;
  },
};
