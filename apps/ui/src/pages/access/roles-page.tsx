import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ACLRole } from '../../api/contract.js';
import { roleQuery, rolesQuery, tokensQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Answer } from '../../components/answer.js';
import { Facts } from '../../components/facts.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { PolicyLink, RoleLink } from './access-links.js';
import { TokenRows } from './tokens-page.js';

const COLUMNS: readonly Column<ACLRole>[] = [
  { title: 'Role', px: 130, share: 1, cell: ({ ID, Name }) => <RoleLink id={ID} name={Name} /> },
  {
    title: 'Policies',
    px: 150,
    share: 2,
    cell: ({ Policies }) => Policies.map(({ Name }) => <PolicyLink key={Name} name={Name} />),
  },
  { title: 'About', extra: true, px: 150, share: 2, cell: ({ Description }) => Description || '—' },
];

export function RolesPage() {
  return (
    <Answer of={useQuery(rolesQuery())}>
      {(all) =>
        all.length === 0 ? (
          <Empty title="No roles">
            <p>
              A role is a name for several policies. <code>npx waybill acl role create</code> makes one.
            </p>
          </Empty>
        ) : (
          <Rows label="Roles" columns={COLUMNS} rows={all} keyOf={({ ID }) => ID} />
        )
      }
    </Answer>
  );
}

const route = getRouteApi('/access-control/roles/$role');

/** One role: its policies, and the tokens that have it. */
export function RolePage() {
  const { role } = route.useParams();
  return <Answer of={useQuery(roleQuery(role))}>{(read) => <RoleView role={read} />}</Answer>;
}

function RoleView({ role }: { readonly role: ACLRole }) {
  const mayList = useMay({ route: 'listTokens' }) === true;
  const tokens = useQuery({ ...tokensQuery(), enabled: mayList });
  const holders = (tokens.data ?? []).filter(({ Roles }) => Roles?.some(({ ID }) => ID === role.ID) === true);
  return (
    <>
      <PageHead
        title={role.Name}
        above={<Link to="/access-control/roles">Roles</Link>}
        about={role.Description || undefined}
      />
      <Card>
        <Facts
          of={{
            ID: <code>{role.ID}</code>,
            Policies: role.Policies.map(({ Name }) => <PolicyLink key={Name} name={Name} />),
          }}
        />
      </Card>
      {mayList && (
        <Section title="Tokens with this role">
          {holders.length === 0 ? (
            <Card>
              <Empty title="No token has it" />
            </Card>
          ) : (
            <TokenRows rows={holders} />
          )}
        </Section>
      )}
    </>
  );
}
