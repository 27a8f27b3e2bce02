import type { ServerCommand } from '../command-spec.js';
import { CommandFailure } from '../failure.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';
import { VERBOSE_FLAG } from '../terminal/display.js';
import { forbidWildcard, type Variable, variableUrl, writeFailure } from '../variables/variable.js';
import { wantedVariable } from '../variables/variable-spec.js';
import { outFlags, type OutForm, outForm, variableText } from '../variables/variable-text.js';

const FORMS: readonly OutForm[] = ['none', 'json', 'hcl', 'table', 'go-template'];

/** Writes a variable, unless another writer has changed it (CL-853). */
export const command: ServerCommand = {
  usage: '<path>|@<file>|- [@<file>|-] [<key>=<value>...]',
  description:
    'Writes a variable. Its items come from the specification in a file ("@") or on stdin ("-"), and from the ' +
    'arguments, which win. A value can come from a file (key=@file) or from stdin (key=-); \\@ at its start ' +
    'stands for a literal @. An empty value removes the item.\n\nWithout -force the variable must be as it was ' +
    'last seen: at -check-index, or at the modify index of the specification, or not there at all.\n\nNeeds the ' +
    'capability write of its path.',
  flags: [
    {
      name: 'check-index',
      kind: 'integer',
      value: 'n',
      help: 'Only if the last write was at this index. 0 requires a new variable.',
    },
    { name: 'force', kind: 'switch', help: 'Write the variable without comparing it with the stored one.' },
    {
      name: 'in',
      kind: 'text',
      value: 'hcl|json',
      help: "Language of the specification (the file's extension, else json).",
    },
    ...outFlags(FORMS, 'none'),
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: {
    min: 1,
    max: Number.POSITIVE_INFINITY,
    otherwise: 'Not enough arguments (expected >1, got 0)',
  },
  async run(call) {
    const { args, flags, terminal } = call;
    forbidWildcard(call);
    const form = outForm(flags, terminal, FORMS, 'none');
    const language = flags.text('in') || undefined;
    if (language !== undefined && language !== 'hcl' && language !== 'json')
      throw new CommandFailure('Invalid value for "-in"; valid values are [hcl, json]');
    if (flags.on('force') && flags.given('check-index'))
      throw new CommandFailure('-force and -check-index exclude each other');
    const { path, namespace, items, modifyIndex } = await wantedVariable(args, {
      language,
      namespace: call.api.connection.namespace,
      onOddKey: (key) =>
        terminal.warn(`"${key}" has other characters than letters, digits and _, and is hard to use in templates.`),
    });
    const api = call.api.within({ namespace });
    const checkIndex = flags.on('force') ? undefined : (flags.integer('check-index')?.toString() ?? modifyIndex);
    const wanted = { Path: path, ...(namespace !== undefined && { Namespace: namespace }), Items: { ...items } };
    const answer = await api.put<Variable>(variableUrl(path), wanted, { cas: checkIndex }).catch((error: unknown) => {
      throw writeFailure(
        'creating variable',
        error,
        checkIndex,
        (present) => `To write it over what is there now, use -check-index=${present} or -force.`,
      );
    });
    const done = `Created variable "${path}" with modify index ${answer.value.ModifyIndex}`;
    const text = await variableText(form, flags.text('template') ?? '', answer);
    if (text === undefined) terminal.print(done);
    else {
      if (flags.on('verbose')) terminal.note(done);
      terminal.print(text);
    }
    if (form === 'none' || form === 'table')
      await webHint(call, 'View this variable', `/variables/var/${path}@${answer.value.Namespace}`);
    return 0;
  },
};
