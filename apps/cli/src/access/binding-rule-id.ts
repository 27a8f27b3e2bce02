import { failed } from '../failure.js';
import type { ApiClient } from '../server/api-client.js';
import { AmbiguousPrefix } from '../server/resolve-uuid.js';
import { isUuid } from '../terminal/short-id.js';
import { type RuleStub, ruleTable } from './binding-rule-text.js';

/**
 * Returns the ID of the only rule with this prefix (AU-300). If there is no such rule, the prefix itself is returned,
 * so that the server answers that the rule does not exist. @throws CommandFailure, AmbiguousPrefix
 */
export async function ruleIdOf(api: Pick<ApiClient, 'get'>, given: string, doing: string): Promise<string> {
  if (given === '' || isUuid(given)) return given;
  const { value } = await api
    .get<RuleStub[] | null>('/v1/acl/binding-rules', { prefix: given })
    .catch((error: unknown) => {
      throw failed(doing, error);
    });
  const rules = value ?? [];
  if (rules.length > 1) throw new AmbiguousPrefix(`Prefix matched multiple ACL binding rules\n\n${ruleTable(rules)}`);
  return rules[0]?.ID ?? given;
}

export const rulePath = (id: string): string => `/v1/acl/binding-rule/${encodeURIComponent(id)}`;
