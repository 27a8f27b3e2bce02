import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { NamespaceServices } from '../../api/contract.js';
import { servicesQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { Choice, Filters, SearchField } from '../../components/filters.js';
import { ServiceLink } from '../../components/object-links.js';
import { Empty, PageHead } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { Tags } from '../../components/tags.js';
import { filteredServices, type ServiceFilter, type ServiceRow } from './service-list.js';

const route = getRouteApi('/services');

const COLUMNS: readonly Column<ServiceRow>[] = [
  {
    title: 'Service',
    px: 120,
    share: 2,
    cell: ({ name, namespace }) => <ServiceLink id={name} namespace={namespace} />,
  },
  { title: 'Namespace', px: 90, share: 1, cell: ({ namespace }) => namespace },
  { title: 'Tags', extra: true, px: 160, share: 3, cell: ({ tags }) => <Tags of={tags} /> },
];

/** The services that running allocations have registered. */
export function ServicesPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const services = useQuery(servicesQuery());
  const choose = (change: ServiceFilter): void =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <>
      <PageHead title="Services" about="The names under which running allocations can be reached." />
      <Filters>
        <SearchField label="Search by name or tag" value={filter.search} onChange={(search) => choose({ search })} />
        <Choice
          label="Namespace"
          all="All namespaces"
          options={(services.data ?? []).map(({ Namespace }) => Namespace)}
          value={filter.namespace}
          onChange={(namespace) => choose({ namespace })}
        />
      </Filters>
      <Answer of={services}>{(all) => <ServiceRows all={all} filter={filter} />}</Answer>
    </>
  );
}

function ServiceRows({ all, filter }: { readonly all: readonly NamespaceServices[]; readonly filter: ServiceFilter }) {
  const rows = filteredServices(all, filter);
  if (all.length === 0)
    return (
      <Empty title="No services">
        <p>
          A job registers one with a <code>service</code> block whose provider is <code>nomad</code>.
        </p>
      </Empty>
    );
  if (rows.length === 0)
    return (
      <Empty title="No service matches">
        <p>
          <Link to="/services">Show all</Link>
        </p>
      </Empty>
    );
  return (
    <Rows label="Services" columns={COLUMNS} rows={rows} keyOf={({ name, namespace }) => `${namespace}/${name}`} />
  );
}
