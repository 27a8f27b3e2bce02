import { useQueries, useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type {
  ACLAuthMethod,
  ACLAuthMethodListStub,
  ACLBindingRule,
  ACLBindingRuleListStub,
} from '../../api/contract.js';
import { authMethodQuery, authMethodsQuery, bindingRuleQuery, bindingRulesQuery } from '../../api/queries.js';
import { Answer } from '../../components/answer.js';
import { TimeAgo } from '../../components/clock.js';
import { Facts } from '../../components/facts.js';
import { shortId } from '../../components/object-links.js';
import { Card, Empty, PageHead, Section } from '../../components/page.js';
import { type Column, Rows } from '../../components/rows.js';

const METHOD_COLUMNS: readonly Column<ACLAuthMethodListStub>[] = [
  {
    title: 'Method',
    px: 130,
    share: 2,
    cell: ({ Name }) => (
      <Link to="/access-control/auth-methods/$method" params={{ method: Name }}>
        {Name}
      </Link>
    ),
  },
  { title: 'Kind', px: 70, share: 1, cell: ({ Type }) => Type },
  { title: 'Default', px: 70, share: 1, cell: ({ Default }) => (Default ? 'yes' : '') },
];

export function AuthMethodsPage() {
  return (
    <Answer of={useQuery(authMethodsQuery())}>
      {(all) =>
        all.length === 0 ? (
          <Empty title="No auth methods">
            <p>
              An auth method lets people sign in with another system. <code>npx waybill acl auth-method create</code>{' '}
              makes one.
            </p>
          </Empty>
        ) : (
          <Rows label="Auth methods" columns={METHOD_COLUMNS} rows={all} keyOf={({ Name }) => Name} />
        )
      }
    </Answer>
  );
}

const route = getRouteApi('/access-control/auth-methods/$method');

/** One auth method: the system that it trusts, and the rules by which a login gets its rights. */
export function AuthMethodPage() {
  const { method } = route.useParams();
  return <Answer of={useQuery(authMethodQuery(method))}>{(read) => <MethodView method={read} />}</Answer>;
}

const listed = (values: readonly string[] | null): string | undefined => values?.join(', ') || undefined;

function MethodView({ method }: { readonly method: ACLAuthMethod }) {
  const { Config } = method;
  return (
    <>
      <PageHead
        title={method.Name}
        above={<Link to="/access-control/auth-methods">Auth methods</Link>}
        about={method.Default ? 'The method that people sign in with unless they name another.' : undefined}
      />
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
  { title: 'Rule', px: 84, cell: ({ stub: { ID } }) => <code title={ID}>{shortId(ID)}</code> },
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
];

const grantOf = ({ BindType, BindName }: ACLBindingRule): string =>
  BindType === 'management' ? 'everything' : `${BindType} ${BindName}`;

function Rules({ method }: { readonly method: string }) {
  return (
    <Section title="Binding rules">
      <Answer of={useQuery(bindingRulesQuery())}>
        {(all) => <RuleRows stubs={all.filter(({ AuthMethod }) => AuthMethod === method)} />}
      </Answer>
    </Section>
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
