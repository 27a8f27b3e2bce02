import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { VariableMetadata } from '../../api/contract.js';
import { variablesQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { objectAddress } from '../../app/object-address.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { Empty, PageHead } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { counted } from '../../words/sizes.js';
import { FolderPath } from './folder-path.js';
import { entriesOf, type FolderEntry } from './variable-folder.js';

const route = getRouteApi('/variables');

const COLUMNS: readonly Column<FolderEntry>[] = [
  { title: 'Name', px: 150, share: 3, cell: (entry) => <EntryLink entry={entry} /> },
  {
    title: 'Namespace',
    px: 90,
    share: 1,
    cell: (entry) => (entry.kind === 'variable' ? entry.variable.Namespace : ''),
  },
  { title: 'About', extra: true, px: 100, share: 1, cell: aboutEntry },
  {
    title: 'Changed',
    px: 90,
    align: 'right',
    cell: (entry) => entry.kind === 'variable' && <TimeAgo time={entry.variable.ModifyTime} />,
  },
];

function aboutEntry(entry: FolderEntry): string {
  if (entry.kind === 'folder') return counted(entry.count, 'variable');
  return entry.variable.Lock ? 'locked' : '';
}

function EntryLink({ entry }: { readonly entry: FolderEntry }) {
  if (entry.kind === 'folder')
    return (
      <Link to="/variables" search={(before) => ({ ...before, folder: entry.path })}>
        {entry.name}/
      </Link>
    );
  const { Path: id, Namespace: namespace } = entry.variable;
  return (
    <Link to="/variables/$variable" params={{ variable: objectAddress({ id, namespace }) }} title={id}>
      {entry.name}
    </Link>
  );
}

interface VariableFilter {
  /** The beginning of paths, up to a slash. */
  readonly folder?: string;
  /** A text in the path. It is looked for in all folders below. */
  readonly search?: string;
  readonly namespace?: string;
}

/** The variables that the caller may see, folder by folder. */
export function VariablesPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const variables = useQuery(variablesQuery());
  const mayWrite = useMay({ route: 'listVariables' });
  const choose = (change: VariableFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const { folder = '' } = filter;
  return (
    <>
      <PageHead
        title={folder === '' ? 'Variables' : folder}
        above={folder === '' ? undefined : <FolderPath path={folder.slice(0, -1)} />}
        about={folder === '' ? 'Encrypted values for jobs and people, by path.' : undefined}
      >
        {mayWrite === true && (
          <Link to="/variables/new" search={folder === '' ? {} : { folder }} className={buttons['button']}>
            New variable
          </Link>
        )}
      </PageHead>
      <Filters>
        <SearchField label="Search by path" value={filter.search} onChange={(search) => choose({ search })} />
        <Choice
          label="Namespace"
          all="All namespaces"
          options={[...new Set((variables.data ?? []).map(({ Namespace }) => Namespace))].toSorted()}
          value={filter.namespace}
          onChange={(namespace) => choose({ namespace })}
        />
      </Filters>
      <Answer of={variables}>{(all) => <VariableRows all={all} filter={filter} />}</Answer>
    </>
  );
}

function VariableRows({ all, filter }: { readonly all: readonly VariableMetadata[]; readonly filter: VariableFilter }) {
  const { folder = '', search = '', namespace } = filter;
  const text = search.trim().toLowerCase();
  const wanted = all
    .filter(({ Namespace }) => namespace === undefined || Namespace === namespace)
    .filter(({ Path }) => Path.toLowerCase().includes(text));
  const rows =
    text === ''
      ? entriesOf(wanted, folder)
      : wanted
          .filter(({ Path }) => Path.startsWith(folder))
          .map((variable): FolderEntry => ({ kind: 'variable', name: variable.Path.slice(folder.length), variable }));
  if (all.length === 0)
    return (
      <Empty title="No variables">
        <p>
          Jobs read them in templates. <code>npx waybill var put nomad/jobs/web key=value</code> writes one.
        </p>
      </Empty>
    );
  if (rows.length === 0)
    return (
      <Empty title="No variable matches">
        <p>
          <Link to="/variables">Show all</Link>
        </p>
      </Empty>
    );
  return <Rows label="Variables" columns={COLUMNS} rows={rows} keyOf={keyOf} />;
}

const keyOf = (entry: FolderEntry): string =>
  entry.kind === 'folder' ? entry.path : `${entry.variable.Namespace}@${entry.variable.Path}`;
