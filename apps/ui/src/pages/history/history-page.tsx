import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { LoggedTransaction } from '../../api/contract.js';
import { objectAtQuery, objectLogQuery, type HistoryObject } from '../../api/queries.js';
import { readObjectAddress } from '../../app/object-address.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Failure } from '../../components/failure.js';
import { Card, Empty, PageHead, Section, Waiting } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { type ComparedMoments, momentsOf } from './compared-moments.js';
import styles from './history-page.module.css';
import { differences, type MemberChange } from './object-differences.js';

const route = getRouteApi('/history/$kind/$object');

/** The words for kinds, and the pages of the objects. */
const KINDS: Readonly<Record<string, string>> = {
  job: 'Job',
  alloc: 'Allocation',
  eval: 'Evaluation',
  deployment: 'Deployment',
  node: 'Machine',
  volume: 'CSI volume',
  'host-volume': 'Volume',
  plugin: 'CSI plugin',
  policy: 'Policy',
  role: 'Role',
  token: 'Token',
  var: 'Variable',
};

/** What has changed an object, and the object as it was at two moments. */
export function HistoryPage() {
  const { kind, object } = route.useParams();
  const { id, namespace } = readObjectAddress(object);
  const of: HistoryObject = { kind, id, namespace };
  return (
    <>
      <PageHead
        title={`History of ${id}`}
        above={<Back of={of} />}
        about="What has changed it, and how it was after each change. Choose two moments to compare."
      />
      <Answer of={useQuery(objectLogQuery(of))}>{(records) => <History of={of} records={records} />}</Answer>
    </>
  );
}

function Back({ of: { kind, id, namespace } }: { readonly of: HistoryObject }) {
  const object = `${id}@${namespace}`;
  switch (kind) {
    case 'job':
      return <Link to="/jobs/$job" params={{ job: object }}>{`Job ${id}`}</Link>;
    case 'alloc':
      return <Link to="/allocations/$id" params={{ id }}>{`Allocation ${id}`}</Link>;
    case 'node':
      return <Link to="/clients/$id" params={{ id }}>{`Machine ${id}`}</Link>;
    case 'deployment':
      return <Link to="/deployments/$id" params={{ id }}>{`Deployment ${id}`}</Link>;
    case 'eval':
      return <Link to="/evaluations/$id" params={{ id }}>{`Evaluation ${id}`}</Link>;
    default:
      return KINDS[kind] ?? kind;
  }
}

interface HistoryProps {
  readonly of: HistoryObject;
  readonly records: readonly LoggedTransaction[];
}

/** Only a transaction that was accepted and changed the object has made a new state. */
const hasChanged = ({ Verdict, Objects }: LoggedTransaction, { kind, id }: HistoryObject): boolean =>
  Verdict === 'accepted' && Objects.some((one) => one.Kind === kind && one.ID === id && one.Op !== 'none');

function History({ of, records }: HistoryProps) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const changes = records.filter((record) => hasChanged(record, of)).map(({ Index }) => Index);
  const moments = momentsOf(changes, search);
  const choose = (change: { readonly from?: string; readonly to?: string }): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  if (records.length === 0)
    return (
      <Empty title="No transaction about it is kept">
        <p>The log keeps transactions for a time. An object that has not changed since has no history.</p>
      </Empty>
    );
  return (
    <>
      <Rows
        label="Transactions"
        columns={columnsOf(of, moments, choose)}
        rows={records}
        keyOf={({ Index }) => String(Index)}
      />
      {moments.to !== undefined && <Compared of={of} from={moments.from} to={moments.to} />}
    </>
  );
}

const columnsOf = (
  of: HistoryObject,
  { from, to }: ComparedMoments,
  choose: (change: { readonly from?: string; readonly to?: string }) => void,
): readonly Column<LoggedTransaction>[] => [
  {
    title: 'From',
    px: 36,
    cell: (record) =>
      hasChanged(record, of) && (
        <input
          type="radio"
          name="from"
          aria-label={`Compare from index ${record.Index}`}
          checked={record.Index === from}
          onChange={() => choose({ from: String(record.Index) })}
        />
      ),
  },
  {
    title: 'To',
    px: 36,
    cell: (record) =>
      hasChanged(record, of) && (
        <input
          type="radio"
          name="to"
          aria-label={`Compare to index ${record.Index}`}
          checked={record.Index === to}
          onChange={() => choose({ to: String(record.Index) })}
        />
      ),
  },
  { title: 'Index', px: 70, align: 'right', cell: ({ Index }) => Index },
  { title: 'When', px: 90, cell: ({ Time }) => <TimeAgo time={Time} /> },
  { title: 'Transaction', extra: true, px: 150, share: 2, cell: ({ Name }) => Name },
  { title: 'Who', extra: true, px: 110, share: 1, cell: whoOf },
  { title: 'What', px: 150, share: 3, cell: (record) => <What record={record} of={of} /> },
];

const whoOf = ({ Actor: { Kind, ID, Name } }: LoggedTransaction): string =>
  Name !== '' ? Name : ID === '' ? Kind : `${Kind} ${ID.slice(0, 8)}`;

function What({ record, of }: { readonly record: LoggedTransaction; readonly of: HistoryObject }) {
  const change = record.Objects.find(({ Kind, ID }) => Kind === of.kind && ID === of.id);
  const refused =
    record.Verdict === 'accepted' || record.Verdict === 'noop' ? '' : `${record.Verdict}: ${record.Error}`;
  const text = [refused, change?.Change, record.Reason].filter(Boolean).join('. ') || change?.Op || '—';
  return <span title={text}>{text}</span>;
}

const COLUMNS: readonly Column<MemberChange>[] = [
  { title: 'Member', px: 150, share: 2, cell: ({ path }) => <code title={path}>{path || 'the object'}</code> },
  { title: 'Before', px: 120, share: 3, cell: ({ before }) => <Value of={before} /> },
  { title: 'After', px: 120, share: 3, cell: ({ after }) => <Value of={after} /> },
];

const Value = ({ of }: { readonly of: string | undefined }) =>
  of === undefined ? <span className={styles['none']}>not there</span> : <code title={of}>{of}</code>;

interface ComparedProps {
  readonly of: HistoryObject;
  readonly from: number | undefined;
  readonly to: number;
}

function Compared({ of, from, to }: ComparedProps) {
  const before = useQuery({ ...objectAtQuery(of, from ?? 0), enabled: from !== undefined });
  const after = useQuery(objectAtQuery(of, to));
  const failed = [before, after].find(({ isError }) => isError);
  if (failed) return <Failure error={failed.error} />;
  if (after.isPending || (from !== undefined && before.isPending)) return <Waiting />;
  const rows = from === undefined ? [] : differences(before.data ?? undefined, after.data ?? undefined);
  return (
    <>
      {from !== undefined && (
        <Section title="What changed" note={`from index ${from} to index ${to}`}>
          {rows.length === 0 ? (
            <Card>
              <Empty title="Nothing differs" />
            </Card>
          ) : (
            <Rows label="What changed" columns={COLUMNS} rows={rows} keyOf={({ path }) => path} />
          )}
        </Section>
      )}
      <Section title={`As it was at index ${to}`}>
        {after.data === null ? (
          <Card>
            <Empty title="It did not exist" />
          </Card>
        ) : (
          <pre className={styles['object']} tabIndex={0} role="region" aria-label={`The object at index ${to}`}>
            {JSON.stringify(after.data, undefined, 2)}
          </pre>
        )}
      </Section>
    </>
  );
}
