import {
  type AclPolicy,
  type AclRole,
  type AclToken,
  type AuthMethod,
  type BindingRule,
  isPolicyOf,
  type OneTimeToken,
  type PolicyWorkload,
} from '@waybill/model';
import { SINGLETON_KEY, type TableName, type TableRows } from '@waybill/state';
import type { Pool, PoolClient } from 'pg';
import { columnTypes } from '../database/column-types.js';
import { inTransaction } from '../database/transaction.js';
import { allSetAside, setAsideBodies } from '../set-aside/find-set-aside.js';
import { storedText } from '../writing/stored-text.js';
import { Conditions, findStatement } from './list-query.js';
import { byId, byName, type ListOrder } from './page.js';
import { type Found, type Listed, listOf, type ListOptions, type RowReads } from './row-reads.js';

export interface TokenListOptions extends ListOptions<AclToken> {
  /** Only tokens that are replicated to other regions. */
  readonly globalOnly?: boolean | undefined;
}

export interface PolicyListOptions extends ListOptions<AclPolicy> {
  /** Only policies with these names. */
  readonly named?: readonly string[] | undefined;
}

export interface RoleListOptions extends ListOptions<AclRole> {
  /** Only roles with these IDs. */
  readonly ids?: readonly string[] | undefined;
}

export interface BindingRuleListOptions extends ListOptions<BindingRule> {
  /** Only rules of this method. */
  readonly method?: string | undefined;
}

/** A token with its roles and the policies of both, read at one moment. Deleted ones are left out. */
export interface TokenGrants {
  readonly token: AclToken;
  readonly roles: readonly AclRole[];
  readonly policies: readonly AclPolicy[];
}

/** Names of the roles and policies that the binding rules of a login grant. */
export interface WantedGrants {
  readonly roles: readonly string[];
  readonly policies: readonly string[];
}

/** The grants of a login: those that its rules request, and which of them exist. */
export interface LoginGrounds<Wanted> {
  readonly wanted: Wanted;
  readonly roles: readonly AclRole[];
  /** Names of the existing policies. */
  readonly policies: readonly string[];
}

const FIND = {
  token: findStatement('acl_token', ['accessor_id']),
  tokenBySecret: findStatement('acl_token', ['secret_hash']),
  policy: findStatement('acl_policy', ['name']),
  role: findStatement('acl_roles', ['id']),
  roleByName: findStatement('acl_roles', ['name']),
  oneTimeToken: findStatement('one_time_token', ['secret_hash']),
  authMethod: findStatement('acl_auth_methods', ['name']),
  bindingRule: findStatement('acl_binding_rules', ['id']),
  bootstrap: findStatement('acl_token_bootstrap', ['id']),
} as const;

/** Order of tokens by creation: `<CreateIndex>.<AccessorID>` (OP-147). */
const byTokenCreation: ListOrder<AclToken> = {
  columns: ['create_index', 'accessor_id'],
  tokenOf: ({ CreateIndex, AccessorID }) => `${CreateIndex}.${AccessorID}`,
  parse: (token) => {
    const [, index, accessor = ''] = /^(\d{1,15})\.(.*)$/s.exec(token) ?? [];
    return index === undefined ? undefined : [Number(index), accessor];
  },
};

const byAccessor: ListOrder<AclToken> = {
  columns: ['accessor_id'],
  tokenOf: ({ AccessorID }) => AccessorID,
  parse: (token) => [token],
};

/**
 * Reads of tokens, policies, roles, auth methods and binding rules as stored, with hashes and sealed secrets. Encode
 * them before they leave the process. Part of the read model.
 */
export class AccessReads {
  constructor(
    private readonly rows: RowReads,
    private readonly pool: Pool,
  ) {}

  token(accessorId: string): Promise<Found<AclToken>> {
    return this.rows.find(FIND.token, [accessorId]);
  }

  /** Finds the token with this hash of its secret, even if it has expired. */
  tokenBySecretHash(hash: string): Promise<Found<AclToken>> {
    return this.rows.find(FIND.tokenBySecret, [hash]);
  }

  /**
   * Finds the token with this hash of its secret, and its grants, at one moment (OP-117). Undefined if there is no such
   * token.
   */
  grantsBySecretHash(hash: string): Promise<TokenGrants | undefined> {
    return this.grants('secret_hash', hash);
  }

  /** Finds the token and its grants by the accessor. */
  grantsOf(accessorId: string): Promise<TokenGrants | undefined> {
    return this.grants('accessor_id', accessorId);
  }

  /** Lists tokens in the order of their creation. A prefix is one of the accessor. */
  tokens(options: TokenListOptions = {}): Promise<Listed<AclToken>> {
    const prefix = (options.prefix ?? '').toLowerCase();
    const conditions = (): Conditions => {
      const chosen = new Conditions().startsWith('accessor_id', prefix);
      return options.globalOnly ? chosen.where('r.global') : chosen;
    };
    const order = prefix === '' ? byTokenCreation : byAccessor;
    return this.rows.list(listOf('acl_token', conditions, order, options), options.keep);
  }

  policy(name: string): Promise<Found<AclPolicy>> {
    return this.rows.find(FIND.policy, [name]);
  }

  /** Lists policies by name. */
  policies(options: PolicyListOptions = {}): Promise<Listed<AclPolicy>> {
    const { prefix = '', named } = options;
    const conditions = (): Conditions => {
      const chosen = new Conditions().startsWith('name', prefix);
      return named === undefined ? chosen : chosen.where(`r.name = any(${chosen.value(named)})`);
    };
    return this.rows.list(listOf('acl_policy', conditions, byName<AclPolicy>(), options), options.keep);
  }

  /** Returns those of these policies that exist, even if PostgreSQL refused to store them. */
  policiesNamed(names: readonly string[]): Promise<readonly AclPolicy[]> {
    return evenAside(this.pool, POLICIES, names);
  }

  /**
   * Returns the policies whose JobACL matches a workload (OP-138), even if PostgreSQL refused to store them. Cost: the
   * policies of its namespace.
   */
  async policiesOfWorkload(workload: PolicyWorkload): Promise<readonly AclPolicy[]> {
    const conditions = (): Conditions => new Conditions().equal('job_namespace', workload.namespace);
    const [{ rows }, aside] = await Promise.all([
      this.rows.list(listOf('acl_policy', conditions, byName<AclPolicy>(), {})),
      allSetAside<AclPolicy>(this.pool, 'acl_policy'),
    ]);
    return [...rows, ...aside].filter((policy) => isPolicyOf(policy, workload));
  }

  role(id: string): Promise<Found<AclRole>> {
    return this.rows.find(FIND.role, [id]);
  }

  roleByName(name: string): Promise<Found<AclRole>> {
    return this.rows.find(FIND.roleByName, [name]);
  }

  /** Lists roles by ID. */
  roles(options: RoleListOptions = {}): Promise<Listed<AclRole>> {
    const { ids } = options;
    const conditions = (): Conditions => {
      const chosen = new Conditions().startsWith('id', (options.prefix ?? '').toLowerCase());
      return ids === undefined ? chosen : chosen.where(`r.id = any(${chosen.value(ids)})`);
    };
    return this.rows.list(listOf('acl_roles', conditions, byId<AclRole>(), options), options.keep);
  }

  /** Returns the present names of these roles by ID. Deleted roles are left out. */
  async roleNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const roles = ids.length === 0 ? [] : (await this.roles({ ids })).rows;
    return new Map(roles.map(({ ID, Name }) => [ID, Name]));
  }

  /** Returns the index of the last bootstrap, which a reset must name (OP-145). 0 if there was none. */
  async bootstrapIndex(): Promise<number> {
    const found = await this.rows.find<TableRows['acl_token_bootstrap']>(FIND.bootstrap, [SINGLETON_KEY]);
    return found.row?.ModifyIndex ?? 0;
  }

  /** Finds the one-time token with this hash of its secret, even if it has expired. */
  async oneTimeToken(hash: string): Promise<OneTimeToken | undefined> {
    return (await this.rows.find<OneTimeToken>(FIND.oneTimeToken, [hash])).row;
  }

  authMethod(name: string): Promise<Found<AuthMethod>> {
    return this.rows.find(FIND.authMethod, [name]);
  }

  /** Lists auth methods by name. */
  authMethods(options: ListOptions<AuthMethod> = {}): Promise<Listed<AuthMethod>> {
    const conditions = (): Conditions => new Conditions().startsWith('name', options.prefix ?? '');
    return this.rows.list(listOf('acl_auth_methods', conditions, byName<AuthMethod>(), options), options.keep);
  }

  /** Returns the default auth method (AU-20), or undefined. */
  async defaultAuthMethod(): Promise<AuthMethod | undefined> {
    const conditions = (): Conditions => new Conditions().where('r.is_default');
    return (await this.rows.list(listOf('acl_auth_methods', conditions, byName<AuthMethod>(), {}))).rows[0];
  }

  bindingRule(id: string): Promise<Found<BindingRule>> {
    return this.rows.find(FIND.bindingRule, [id]);
  }

  /** Lists binding rules by ID. */
  bindingRules(options: BindingRuleListOptions = {}): Promise<Listed<BindingRule>> {
    const { method } = options;
    const conditions = (): Conditions => {
      const chosen = new Conditions().startsWith('id', (options.prefix ?? '').toLowerCase());
      return method === undefined ? chosen : chosen.equal('auth_method', method);
    };
    return this.rows.list(listOf('acl_binding_rules', conditions, byId<BindingRule>(), options), options.keep);
  }

  /**
   * Returns the data for the decision about a login: the binding rules of its method, and which of the roles and
   * policies that `bind` selects exist, all at one moment (AU-61).
   * @throws errors of `bind`
   */
  loginGrounds<Wanted extends WantedGrants>(
    method: string,
    bind: (rules: readonly BindingRule[]) => Wanted,
  ): Promise<LoginGrounds<Wanted>> {
    return inTransaction(this.pool, 'snapshot', async (client) => {
      const wanted = bind(await bodies<BindingRule>(client, RULES_OF_METHODS, [method]));
      const roles = await bodies<AclRole>(client, ROLES_BY_NAME, wanted.roles);
      const policies = await evenAside(client, POLICIES, wanted.policies);
      return { wanted, roles, policies: policies.map(({ Name }) => Name) };
    });
  }

  /**
   * Reads the grants of a token. A management token grants everything, so one statement suffices. A client token needs
   * a snapshot of three.
   */
  private async grants(column: 'secret_hash' | 'accessor_id', key: string): Promise<TokenGrants | undefined> {
    const [first] = await tokenRows(this.pool, column, key);
    if (!first) return undefined;
    if (first.Type === 'management') return { token: first, roles: [], policies: [] };
    return await inTransaction(this.pool, 'snapshot', async (client) => {
      const [token] = await tokenRows(client, column, key);
      if (!token) return undefined;
      const roles = await evenAside(
        client,
        ROLES,
        (token.Roles ?? []).map(({ ID }) => ID),
      );
      const linked = roles.flatMap(({ Policies }) => Policies.map(({ Name }) => Name));
      const names = new Set([...(token.Policies ?? []), ...linked]);
      return { token, roles, policies: await evenAside(client, POLICIES, [...names]) };
    });
  }
}

type Queryable = Pool | PoolClient;

/** A token that PostgreSQL refused to store is found too. Cost: another statement for an unknown secret. */
async function tokenRows(db: Queryable, column: 'secret_hash' | 'accessor_id', key: string): Promise<AclToken[]> {
  const { rows } = await db.query<{ body: AclToken }>({
    name: `grants_${column}`,
    text: `select body from acl_token where ${column} = $1`,
    values: [storedText(key)],
    types: columnTypes,
  });
  if (rows.length > 0) return rows.map(({ body }) => body);
  const aside = await allSetAside<AclToken>(db, 'acl_token');
  return aside.filter(({ SecretHash, AccessorID }) => (column === 'secret_hash' ? SecretHash : AccessorID) === key);
}

/** Rows of one table by their keys, for a decision about somebody's rights. */
interface Decisive<Row> {
  readonly table: TableName;
  readonly name: string;
  readonly text: string;
  readonly keyOf: (row: Row) => string;
}

/**
 * Reads rows even if PostgreSQL refused to store them: without a policy that denies something, the others would allow it.
 * Cost: another statement if one of the rows is missing.
 */
async function evenAside<Row>(
  db: Queryable,
  { table, keyOf, ...statement }: Decisive<Row>,
  keys: readonly string[],
): Promise<Row[]> {
  const stored = await bodies<Row>(db, statement, keys);
  const found = new Set(stored.map(keyOf));
  const missing = keys.filter((key) => !found.has(key)).map((key) => [storedText(key)]);
  return missing.length === 0 ? stored : [...stored, ...(await setAsideBodies<Row>(db, table, missing))];
}

const ROLES: Decisive<AclRole> = {
  table: 'acl_roles',
  name: 'grants_roles',
  text: 'select body from acl_roles where id = any($1) order by id',
  keyOf: ({ ID }) => ID,
};
const ROLES_BY_NAME = { name: 'login_roles', text: 'select body from acl_roles where name = any($1) order by id' };
const RULES_OF_METHODS = {
  name: 'login_rules',
  text: 'select body from acl_binding_rules where auth_method = any($1) order by id',
};
const POLICIES: Decisive<AclPolicy> = {
  table: 'acl_policy',
  name: 'grants_policies',
  text: 'select body from acl_policy where name = any($1) order by name',
  keyOf: ({ Name }) => Name,
};

async function bodies<Row>(
  db: Queryable,
  statement: { readonly name: string; readonly text: string },
  keys: readonly string[],
): Promise<Row[]> {
  if (keys.length === 0) return [];
  const { rows } = await db.query<{ body: Row }>({ ...statement, values: [keys.map(storedText)], types: columnTypes });
  return rows.map(({ body }) => body);
}
