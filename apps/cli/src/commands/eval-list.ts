import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { Display, VERBOSE_FLAG } from '../terminal/display.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';
import { type EvaluationAnswer, evaluationList } from '../evaluations/evaluation-table.js';
import { failed } from '../failure.js';
import { paginationHint } from '../flags/pagination.js';
import { UI_FLAG, webHint } from '../server/web-hint.js';

/** Lists evaluations, optionally of one job or status (CL-621). */
export const command: ServerCommand = {
  usage: '',
  description: 'Lists evaluations, oldest first.\n\nNeeds the capability read-job.',
  flags: [
    {
      name: 'filter',
      kind: 'text',
      value: 'expression',
      help: 'Only matching evaluations. Not with -job or -status.',
    },
    { name: 'job', kind: 'text', value: 'id', help: 'Only of this job.' },
    { name: 'page-token', kind: 'text', value: 'token', help: 'Token of the page, as printed after the previous one.' },
    { name: 'per-page', kind: 'integer', value: 'n', help: 'Evaluations per page.' },
    { name: 'status', kind: 'text', value: 'status', help: 'Only with this status.' },
    ...DATA_FLAGS,
    UI_FLAG,
    VERBOSE_FLAG,
  ],
  takes: NO_ARGUMENTS,
  run: async (call) => {
    const { api, flags, terminal } = call;
    const query = {
      filter: flags.text('filter'),
      job: flags.text('job'),
      status: flags.text('status'),
      per_page: flags.integer('per-page'),
      next_token: flags.text('page-token'),
    };
    const answer = await api.get<EvaluationAnswer[] | null>('/v1/evaluations', query).catch((error: unknown) => {
      throw failed('querying evaluations', error);
    });
    const evaluations = answer.value ?? [];
    if (call.data) call.data(answer.exact);
    else if (evaluations.length === 0) terminal.print('No evals found');
    else {
      terminal.print(evaluationList(evaluations, Display.of(call)));
      if (answer.nextToken !== '') terminal.print(paginationHint(call, answer.nextToken));
    }
    await webHint(call, 'View and manage evaluations', '/evaluations');
    return 0;
  },
};
