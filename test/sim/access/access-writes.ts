import { policyWrite, Requester, roleWrite, tokenWrite } from '@waybill/api';
import type { JobAcl } from '@waybill/model';
import type { Decision } from '@waybill/writing';
import { type ReadingApi, TOKEN_LIMITS } from '../world/reading-api.js';
import type { Written } from '../world/user-api.js';

/** A token as its owner has it. */
export interface IssuedToken {
  readonly accessor: string;
  readonly secret: string;
}

/** What a user wants to be in a token. */
export interface WantedToken {
  /** Of a token that is changed. */
  readonly accessor?: string;
  readonly policies: readonly string[];
  readonly roles: readonly string[];
  /** Milliseconds; undefined: it lives until it is deleted. */
  readonly livesForMs?: number | undefined;
}

const USER = { Kind: 'anonymous', ID: '', Name: 'anonymous' } as const;

/** The writes of an administrator: the decisions of the API, over what this API process reads. */
export class AccessWrites {
  constructor(private readonly api: ReadingApi) {}

  putPolicy(name: string, rules: string, JobACL: JobAcl | null = null): Promise<Written> {
    return this.write(policyWrite({ Name: name, Description: '', Rules: rules, JobACL }, name));
  }

  deletePolicy(name: string): Promise<Written> {
    return this.write({ type: 'ACLPolicyDelete', payload: { Names: [name] } });
  }

  /** A role of a name: made, or changed. */
  async putRole(name: string, wanted: readonly string[]): Promise<Written> {
    const { access } = this.api.model;
    const stored = (await access.roleByName(name)).row;
    const policies = (await access.policiesNamed(wanted)).map(({ Name }) => Name);
    const given = { ID: stored?.ID ?? '', Name: name, Description: '', Policies: policies.map((Name) => ({ Name })) };
    const context = { pathId: undefined, stored, namesake: stored, policies, newUuid: this.api.newId };
    return this.write(roleWrite(given, context));
  }

  deleteRole(id: string): Promise<Written> {
    return this.write({ type: 'ACLRolesDelete', payload: { IDs: [id] } });
  }

  /** @param issued told before the token is written, for its owner may be answered late or never */
  async putToken(wanted: WantedToken, issued: (token: IssuedToken) => void = () => {}): Promise<Written> {
    const { access } = this.api.model;
    const { accessor = '' } = wanted;
    const stored = accessor === '' ? undefined : (await access.token(accessor)).row;
    const roles = (await Promise.all(wanted.roles.map((name) => access.roleByName(name)))).flatMap(
      ({ row }) => row ?? [],
    );
    const made: string[] = [];
    const newUuid = (): string => {
      const id = this.api.newId();
      made.push(id);
      return id;
    };
    const given = {
      AccessorID: accessor,
      SecretID: '',
      Name: '',
      Type: 'client',
      Policies: [...wanted.policies],
      Roles: roles.map(({ ID, Name }) => ({ ID, Name })),
      Global: stored?.Global ?? false,
      ExpirationTime: null,
      ExpirationTTL: stored?.ExpirationTTL ?? (wanted.livesForMs ?? 0) * 1e6,
    };
    const { secrets } = this.api;
    const decision = tokenWrite(given, {
      stored,
      roles,
      secrets,
      limits: TOKEN_LIMITS,
      nowMs: this.api.nowMs(),
      newUuid,
    });
    const [newAccessor, secret] = made;
    if (newAccessor !== undefined && secret !== undefined) issued({ accessor: newAccessor, secret });
    return this.write(decision);
  }

  deleteToken(accessor: string): Promise<Written> {
    return this.write({ type: 'ACLTokenDelete', payload: { AccessorIDs: [accessor] } });
  }

  async write(decision: Decision): Promise<Written> {
    const { author } = Requester.inOtherRegion({ Actor: USER, Reason: '', RequestID: this.api.newId() }, undefined);
    const { index } = await this.api.writes.write(decision, author);
    return { Index: index };
  }
}
