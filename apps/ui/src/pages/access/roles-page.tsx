import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { deleteRole } from '../../api/changes.js';
import type { ACLRole } from '../../api/contract.js';
import { roleQuery, rolesQuery, tokensQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { Facts } from '../../components/facts.js';
import { Filters } from '../../components/filters.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import { PolicyLink, RoleLink } from './access-links.js';
import { RoleForm } from './role-form.js';
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
  const mayCreate = useMay({ route: 'createRole' });
  return (
    <>
      {mayCreate === true && (
        <Filters>
          <Link to="/access-control/roles/new" className={buttons['button']}>
            New role
          </Link>
        </Filters>
      )}
      <Answer of={useQuery(rolesQuery())}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No roles">
              <p>A role is a name for several policies. Tokens that have it follow its changes.</p>
            </Empty>
          ) : (
            <Rows label="Roles" columns={COLUMNS} rows={all} keyOf={({ ID }) => ID} />
          )
        }
      </Answer>
    </>
  );
}

export function NewRolePage() {
  const navigate = getRouteApi('/access-control/roles/new').useNavigate();
  return (
    <>
      <PageHead title="New role" above={<Link to="/access-control/roles">Roles</Link>} />
      <RoleForm
        onSaved={(role) => void navigate({ to: '/access-control/roles/$role', params: { role }, replace: true })}
      >
        <Link to="/access-control/roles" className={buttons['button']}>
          Cancel
        </Link>
      </RoleForm>
    </>
  );
}

const route = getRouteApi('/access-control/roles/$role');

/** One role: its policies, and the tokens that have it. */
export function RolePage() {
  const { role } = route.useParams();
  const { edit } = route.useSearch();
  const navigate = route.useNavigate();
  const leave = (): void => void navigate({ search: {} });
  return (
    <Answer of={useQuery(roleQuery(role))}>
      {(read) => (
        <>
          <Head role={read} isEdited={edit !== undefined} />
          {edit === undefined ? (
            <RoleView role={read} />
          ) : (
            <RoleForm role={read} onSaved={leave}>
              <button type="button" className={buttons['button']} onClick={leave}>
                Cancel
              </button>
            </RoleForm>
          )}
        </>
      )}
    </Answer>
  );
}

function Head({ role, isEdited }: { readonly role: ACLRole; readonly isEdited: boolean }) {
  const navigate = route.useNavigate();
  const mayChange = useMay({ route: 'changeRole' });
  return (
    <PageHead
      title={role.Name}
      above={<Link to="/access-control/roles">Roles</Link>}
      about={role.Description || undefined}
    >
      {!isEdited && (
        <>
          {mayChange === true && (
            <Link
              to="/access-control/roles/$role"
              params={{ role: role.ID }}
              search={{ edit: 'role' }}
              className={buttons['button']}
            >
              Edit
            </Link>
          )}
          <Action
            needs={{ route: 'deleteRole' }}
            label="Delete"
            tone="danger"
            title={`Delete the role ${role.Name}?`}
            text="Tokens that name it stay, without the rights that it grants."
            run={async () => {
              await deleteRole(role.ID);
              await navigate({ to: '/access-control/roles' });
            }}
          />
        </>
      )}
    </PageHead>
  );
}

function RoleView({ role }: { readonly role: ACLRole }) {
  const mayList = useMay({ route: 'listTokens' }) === true;
  const tokens = useQuery({ ...tokensQuery(), enabled: mayList });
  const holders = (tokens.data ?? []).filter(({ Roles }) => Roles?.some(({ ID }) => ID === role.ID) === true);
  return (
    <>
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
