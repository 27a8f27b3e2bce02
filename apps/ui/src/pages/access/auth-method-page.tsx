import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { deleteAuthMethod, deleteBindingRule } from '../../api/changes.js';
import type { ACLAuthMethod, ACLBindingRule, ACLBindingRuleListStub } from '../../api/contract.js';
import { authMethodQuery, bindingRuleQuery, bindingRulesQuery } from '../../api/queries.js';
import { useMay } from '../../api/rights.js';
import { Action } from '../../components/action.js';
import { Answer } from '../../components/answer.js';
import buttons from '../../components/buttons.module.css';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { shortId } from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';
import styles from './access.module.css';
import { AuthMethodForm } from './auth-method-form.js';
import { BindingRuleForm } from './binding-rule-form.js';

const route = getRouteApi('/access-control/auth-methods/$method');

/** The value of `rule` in the address of a rule that is to be made. */
const NEW_RULE = 'new';

/** One auth method: the system that it trusts, and the rules by which a login gets its rights. */
export function AuthMethodPage() {
  const { method } = route.useParams();
  const { edit } = route.useSearch();
  const navigate = route.useNavigate();
  const leave = (): void => void navigate({ search: {} });
  return (
    <Answer of={useQuery(authMethodQuery(method))}>
      {(read) => (
        <>
          <Head method={read} isEdited={edit !== undefined} />
          {edit === undefined ? (
            <MethodView method={read} />
          ) : (
            <AuthMethodForm method={read} onSaved={leave}>
              <button type="button" className={buttons['button']} onClick={leave}>
                Cancel
              </button>
            </AuthMethodForm>
          )}
        </>
      )}
    </Answer>
  );
}

function Head({ method: { Name, Default }, isEdited }: { readonly method: ACLAuthMethod; readonly isEdited: boolean }) {
  const navigate = route.useNavigate();
  const mayChange = useMay({ route: 'changeAuthMethod' });
  return (
    <PageHead
      title={Name}
      above={<Link to="/access-control/auth-methods">Auth methods</Link>}
      about={Default ? 'The method that people sign in with unless they name another.' : undefined}
    >
      {!isEdited && (
        <>
          {mayChange === true && (
            <Link
              to="/access-control/auth-methods/$method"
              params={{ method: Name }}
              search={{ edit: 'method' }}
              className={buttons['button']}
            >
              Edit
            </Link>
          )}
          <Action
            needs={{ route: 'deleteAuthMethod' }}
            label="Delete"
            tone="danger"
            title={`Delete the auth method ${Name}?`}
            text="Nobody can sign in with it from then on. Tokens that it made stay until they expire."
            fields={
              <label className={styles['check']}>
                <input type="checkbox" name="rules" defaultChecked />
                Delete its binding rules too; a later method of this name would use them
              </label>
            }
            run={async (values) => {
              await deleteAuthMethod(Name, values.has('rules'));
              await navigate({ to: '/access-control/auth-methods' });
            }}
          />
        </>
      )}
    </PageHead>
  );
}

const listed = (values: readonly string[] | null): string | undefined => values?.join(', ') || undefined;

function MethodView({ method }: { readonly method: ACLAuthMethod }) {
  const { Config } = method;
  return (
    <>
      <Card>
        <Facts
          of={{
            Kind: method.Type,
            Provider: Config.OIDCDiscoveryURL || Config.JWKSURL || 'keys of its own',
            Client: Config.OIDCClientID || undefined,
            Scopes: listed(Config.OIDCScopes),
            Audiences: listed(Config.BoundAudiences),
            Issuers: listed(Config.BoundIssuer),
            'Sent back to': listed(Config.AllowedRedirectURIs),
            'Tokens last': method.MaxTokenTTL,
            'Tokens are valid in': method.TokenLocality === 'global' ? 'all regions' : 'this region',
            'Names of tokens': <code>{method.TokenNameFormat}</code>,
            Created: <TimeAgo time={method.CreateTime} />,
            Changed: <TimeAgo time={method.ModifyTime} />,
          }}
        />
      </Card>
      <Rules method={method.Name} />
    </>
  );
}

interface RuleRow {
  readonly stub: ACLBindingRuleListStub;
  readonly rule: ACLBindingRule | undefined;
}

const RULE_COLUMNS: readonly Column<RuleRow>[] = [
  { title: 'Rule', extra: true, px: 84, cell: ({ stub: { ID } }) => <code title={ID}>{shortId(ID)}</code> },
  { title: 'Grants', px: 130, share: 1, cell: ({ rule }) => rule && grantOf(rule) },
  {
    title: 'To logins with',
    extra: true,
    px: 180,
    share: 3,
    cell: ({ rule }) =>
      rule && (rule.Selector === '' ? 'any claims' : <code title={rule.Selector}>{rule.Selector}</code>),
  },
  { title: 'About', extra: true, px: 120, share: 1, cell: ({ stub }) => stub.Description || '—' },
  { title: 'Change', px: 150, align: 'right', cell: ({ rule }) => rule && <RuleActions rule={rule} /> },
];

const grantOf = ({ BindType, BindName }: ACLBindingRule): string =>
  BindType === 'management' ? 'everything' : `${BindType} ${BindName}`;

/** The buttons of a rule. */
function RuleActions({ rule: { ID, AuthMethod } }: { readonly rule: ACLBindingRule }) {
  const mayChange = useMay({ route: 'changeBindingRule' });
  return (
    <span className={styles['rowActions']}>
      {mayChange === true && (
        <Link
          to="/access-control/auth-methods/$method"
          params={{ method: AuthMethod }}
          search={{ rule: ID }}
          className={buttons['button']}
          aria-label={`Edit the rule ${shortId(ID)}`}
        >
          Edit
        </Link>
      )}
      <Action
        needs={{ route: 'deleteBindingRule' }}
        label="Delete"
        tone="danger"
        title={`Delete the rule ${shortId(ID)}?`}
        text="Later logins no longer get what it grants. Tokens that it gave rights to keep them until they expire."
        run={() => deleteBindingRule(ID)}
      />
    </span>
  );
}

function Rules({ method }: { readonly method: string }) {
  const { rule } = route.useSearch();
  const mayCreate = useMay({ route: 'createBindingRule' });
  return (
    <Section
      title="Binding rules"
      note={
        mayCreate === true &&
        rule === undefined && (
          <Link
            to="/access-control/auth-methods/$method"
            params={{ method }}
            search={{ rule: NEW_RULE }}
            className={buttons['button']}
          >
            New rule
          </Link>
        )
      }
    >
      {rule !== undefined && <RuleForm key={rule} method={method} id={rule} />}
      <Answer of={useQuery(bindingRulesQuery())}>
        {(all) => <RuleRows stubs={all.filter(({ AuthMethod }) => AuthMethod === method)} />}
      </Answer>
    </Section>
  );
}

/** The form of a rule, above the other rules. @param id the rule to change, or NEW_RULE */
function RuleForm({ method, id }: { readonly method: string; readonly id: string }) {
  const isNew = id === NEW_RULE;
  const navigate = route.useNavigate();
  const rule = useQuery({ ...bindingRuleQuery(id), enabled: !isNew });
  const leave = (): void => void navigate({ search: {} });
  const cancel = (
    <button type="button" className={buttons['button']} onClick={leave}>
      Cancel
    </button>
  );
  return (
    <div className={styles['inset']}>
      {isNew ? (
        <BindingRuleForm method={method} onSaved={leave}>
          {cancel}
        </BindingRuleForm>
      ) : (
        <Answer of={rule}>
          {(read) => (
            <BindingRuleForm method={method} rule={read} onSaved={leave}>
              {cancel}
            </BindingRuleForm>
          )}
        </Answer>
      )}
    </div>
  );
}

/** The list of the API has no selectors, so each rule is read. A method has a handful. */
function RuleRows({ stubs }: { readonly stubs: readonly ACLBindingRuleListStub[] }) {
  const rules = useQueries({ queries: stubs.map(({ ID }) => bindingRuleQuery(ID)) });
  if (stubs.length === 0)
    return (
      <Card>
        <Empty title="No rule: nobody gets a token by this method" />
      </Card>
    );
  return (
    <Rows
      label="Binding rules"
      columns={RULE_COLUMNS}
      rows={stubs.map((stub, at) => ({ stub, rule: rules[at]?.data }))}
      keyOf={({ stub }) => stub.ID}
    />
  );
}
