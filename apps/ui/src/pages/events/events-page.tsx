import { getRouteApi, Link } from '@tanstack/react-router';
import { Failure } from '../../components/failure.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { AllocationLink, DeploymentLink, EvaluationLink, JobLink, NodeLink } from '../../components/object-links.js';
import { Empty, PageHead, Section, Waiting } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import type { Change } from '../../live/change.js';
import { TOPICS } from '../../live/topics.js';
import { type EventFilter, eventKey, filteredEvents } from './event-list.js';
import styles from './events-page.module.css';
import { useRecentEvents } from './recent-events.js';

const route = getRouteApi('/events');

const COLUMNS: readonly Column<Change>[] = [
  {
    title: 'Index',
    px: 76,
    align: 'right',
    cell: (event) => (
      <Link to="/events" search={(before) => ({ ...before, event: eventKey(event) })} title="Show what it says">
        {event.index}
      </Link>
    ),
  },
  { title: 'Event', px: 150, share: 2, cell: ({ type }) => type },
  { title: 'Topic', extra: true, px: 90, share: 1, cell: ({ topic }) => topic },
  { title: 'Object', px: 110, share: 2, cell: (event) => <ObjectOf event={event} /> },
  { title: 'Job', extra: true, px: 100, share: 2, cell: jobOf },
  { title: 'Namespace', extra: true, px: 90, share: 1, cell: ({ namespace }) => namespace || '—' },
];

function ObjectOf({ event: { topic, key, namespace } }: { readonly event: Change }) {
  switch (topic) {
    case 'Job':
      return <JobLink id={key} namespace={namespace} />;
    case 'Allocation':
      return <AllocationLink id={key} />;
    case 'Evaluation':
      return <EvaluationLink id={key} />;
    case 'Deployment':
      return <DeploymentLink id={key} />;
    case 'Node':
      return <NodeLink id={key} />;
    default:
      return <code title={key}>{key}</code>;
  }
}

/** The topics whose first filter key is a job. */
const TOPICS_OF_JOBS = new Set(['Evaluation', 'Allocation', 'Deployment', 'Service']);

function jobOf({ topic, filterKeys: [job = ''], namespace }: Change) {
  return !TOPICS_OF_JOBS.has(topic) || job === '' ? '—' : <JobLink id={job} namespace={namespace} />;
}

/** Every change of the cluster as it happens, and the last ones before. */
export function EventsPage() {
  const { event, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const { events, error, isLoading } = useRecentEvents();
  const choose = (change: EventFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  const rows = filteredEvents(events, filter);
  const shown = events.find((one) => eventKey(one) === event);
  return (
    <>
      <PageHead title="Events" about="What happens in the cluster, as it happens, behind the last hundred changes." />
      <Filters>
        <SearchField
          label="Search by object, job or event"
          value={filter.search}
          onChange={(search) => choose({ search })}
        />
        <Choice
          label="Topic"
          all="All topics"
          options={TOPICS}
          value={filter.topic}
          onChange={(topic) => choose({ topic })}
        />
      </Filters>
      {error !== undefined && <Failure error={error} />}
      {shown && (
        <Section title={`${shown.type} of ${shown.key}`} note={`index ${shown.index}`}>
          <pre className={styles['payload']} tabIndex={0} aria-label="What the event says">
            {JSON.stringify(shown.payload, undefined, 2)}
          </pre>
        </Section>
      )}
      {isLoading && rows.length === 0 && <Waiting />}
      {!isLoading && rows.length === 0 && <Empty title="No event matches" />}
      {rows.length > 0 && <Rows label="Events" columns={COLUMNS} rows={rows} keyOf={eventKey} />}
    </>
  );
}
