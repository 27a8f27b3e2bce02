import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { deletePolicy } from '../../api/changes.js';
import type { ACLPolicy } from '../../api/contract.js';
import { policyQuery, rolesQuery, tokensQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { RoleLink } from './access-links.js';
import styles from './access.module.css';
import { PolicyForm } from './policy-form.js';
import { jobOfPolicy } from './policy-job.js';
import { TokenRows } from './tokens-page.js';

const route = getRouteApi('/access-control/policies/$policy');

/** One policy: its rules, and who has it. */
export function PolicyPage() {
  const { policy } = route.useParams();
  const { edit } = route.useSearch();
  const navigate = route.useNavigate();
  const leave = (): void => void navigate({ search: {} });
  return (
    <Answer of={useQuery(policyQuery(policy))}>
      {(read) => (
        <>
          <Head policy={read} isEdited={edit !== undefined} />
          {edit === undefined ? (
            <PolicyView policy={read} />
          ) : (
            <PolicyForm policy={read} onSaved={leave}>
              <button type="button" className={buttons['button']} onClick={leave}>
                Cancel
              </button>
            </PolicyForm>
          )}
        </>
      )}
    </Answer>
  );
}

function Head({ policy, isEdited }: { readonly policy: ACLPolicy; readonly isEdited: boolean }) {
  const navigate = route.useNavigate();
  const mayWrite = useMay({ route: 'writePolicy' });
  const workload = jobOfPolicy(policy);
  return (
    <PageHead
      title={policy.Name}
      above={<Link to="/access-control/policies">Policies</Link>}
      about={
        [policy.Description, workload && `For the identity of ${workload}.`].filter(Boolean).join(' ') || undefined
      }
    >
      {!isEdited && (
        <>
          {mayWrite === true && (
            <Link
              to="/access-control/policies/$policy"
              params={{ policy: policy.Name }}
              search={{ edit: 'rules' }}
              className={buttons['button']}
            >
              Edit
            </Link>
          )}
          <Action
            needs={{ route: 'deletePolicy' }}
            label="Delete"
            tone="danger"
            title={`Delete the policy ${policy.Name}?`}
            text="Tokens and roles that name it stay, without the rights that it grants."
            run={async () => {
              await deletePolicy(policy.Name);
              await navigate({ to: '/access-control/policies' });
            }}
          />
        </>
      )}
    </PageHead>
  );
}

const PolicyView = ({ policy }: { readonly policy: ACLPolicy }) => (
  <>
    <Card>
      <pre className={styles['rules']} tabIndex={0} role="region" aria-label="Rules">
        {policy.Rules}
      </pre>
    </Card>
    <Holders policy={policy.Name} />
  </>
);

/** The tokens and roles that have the policy. Who may not list tokens sees only the rules. */
function Holders({ policy }: { readonly policy: string }) {
  const mayList = useMay({ route: 'listTokens' }) === true;
  const tokens = useQuery({ ...tokensQuery(), enabled: mayList });
  const roles = useQuery(rolesQuery());
  const named = (roles.data ?? []).filter(({ Policies }) => Policies.some(({ Name }) => Name === policy));
  const roleIds = new Set(named.map(({ ID }) => ID));
  const holders = (tokens.data ?? []).filter(
    ({ Policies, Roles }) => Policies?.includes(policy) === true || Roles?.some(({ ID }) => roleIds.has(ID)) === true,
  );
  if (!mayList) return undefined;
  return (
    <>
      {named.length > 0 && (
        <Section title="Roles">
          {named.map(({ ID, Name }) => (
            <RoleLink key={ID} id={ID} name={Name} />
          ))}
        </Section>
      )}
      <Section title="Tokens with this policy">
        {holders.length === 0 ? (
          <Card>
            <Empty title="No token has it" />
          </Card>
        ) : (
          <TokenRows rows={holders} />
        )}
      </Section>
    </>
  );
}
