import { expect, it } from 'vitest';
import { parseNamespace } from '../parse-place.js';

it('AU-126: a namespace in HCL says the extra claims of its identities', () => {
  const text = `
    name = "team"
    required_extra_claims { org = "acme" }
    optional_extra_claims { team = "a" }
  `;
  expect(parseNamespace({ name: 'team.hcl', text })).toMatchObject({
    Name: 'team',
    RequiredExtraClaims: { org: 'acme' },
    OptionalExtraClaims: { team: 'a' },
  });
});
