import type { ServerCommand } from '../command-spec.js';
import { failed } from '../failure.js';
import { LIST_FLAGS } from '../flags/pagination.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';
import { renderer } from '../terminal/data-printer.js';
import { formatExact } from '../terminal/exact-json.js';
import type { VariableStub } from '../variables/variable.js';
import { outFlags, type OutForm, outForm, variableTable } from '../variables/variable-text.js';

const FORMS: readonly OutForm[] = ['table', 'json', 'terse', 'go-template'];

/** Lists variables without their items (CL-851). */
export const command: ServerCommand = {
  usage: '[<prefix>]',
  description:
    'Lists the variables that you may list, without their items.\n\nNeeds the capability list of their paths.',
  flags: [...LIST_FLAGS, ...outFlags(FORMS, 'table'), UI_FLAG],
  takes: { min: 0, max: 1, otherwise: 'This command takes flags and either no arguments or one: <prefix>' },
  async run(call) {
    const { api, args, flags, terminal } = call;
    const form = outForm(flags, terminal, FORMS, 'table');
    const [prefix = ''] = args;
    const perPage = flags.integer('per-page');
    const filter = flags.text('filter');
    const query = { prefix, filter, per_page: perPage, next_token: flags.text('page-token') };
    const { value, exact, index, nextToken } = await api
      .get<VariableStub[] | null>('/v1/vars', query)
      .catch((error: unknown) => {
        throw failed('retrieving vars', error);
      });
    const rows = value ?? [];
    if (filter) terminal.warn('Filtering is done by the server over all variables of the prefix, which may be slow.');
    if (form === 'json')
      terminal.print(
        formatExact(perPage ? { Data: exact, QueryMeta: { LastIndex: index, NextToken: nextToken } } : (exact ?? [])),
      );
    else if (form === 'go-template') terminal.print((await renderer(flags.text('template') ?? ''))(exact));
    else if (rows.length === 0) terminal.print('No matching variables found');
    else terminal.print(form === 'terse' ? rows.map(({ Path }) => Path).join('\n') : variableTable(rows));
    if (nextToken !== '' && form !== 'json') terminal.warn(`Next page token: ${nextToken}`);
    if (form === 'table')
      await webHint(call, 'View and manage variables', prefix ? `/variables/path/${prefix}` : '/variables');
    return 0;
  },
};
