import type { Evaluation } from '../../api/contract.js';
import { TimeAgo } from '../../components/clock.js';
import { EvaluationLink, JobLink } from '../../components/object-links.js';
import type { Column } from '../../components/rows.js';
import { StateOf } from '../../components/status.js';
import { causeOf, outcomeOf } from './evaluation-outcome.js';

const ID: Column<Evaluation> = { title: 'Evaluation', px: 84, cell: (one) => <EvaluationLink id={one.ID} /> };
const JOB: Column<Evaluation> = {
  title: 'Job',
  px: 100,
  share: 2,
  cell: (one) => <JobLink id={one.JobID} namespace={one.Namespace} />,
};
const REST: readonly Column<Evaluation>[] = [
  { title: 'Because', extra: true, px: 150, share: 2, cell: causeOf },
  { title: 'State', px: 100, cell: (one) => <StateOf state={one.Status} /> },
  {
    title: 'What came of it',
    extra: true,
    px: 160,
    share: 3,
    cell: (one) => <span title={outcomeOf(one)}>{outcomeOf(one)}</span>,
  },
  { title: 'Created', extra: true, px: 90, align: 'right', cell: (one) => <TimeAgo time={one.CreateTime} /> },
];

export const EVALUATION_COLUMNS: readonly Column<Evaluation>[] = [ID, JOB, ...REST];
export const EVALUATION_COLUMNS_OF_JOB: readonly Column<Evaluation>[] = [ID, ...REST];
