import { expect, it } from 'vitest';
import { textOfSubmission } from './job-text.js';

const SUBMISSION = { Source: 'job "a" {}', Format: 'hcl2', Variables: '', VariableFlags: null };

it('is the submitted file with its variables, those of the command line among them', () => {
  expect(textOfSubmission(SUBMISSION)).toEqual({ source: 'job "a" {}', variables: '' });
  const VariableFlags = { image: 'redis:7', greeting: 'say "${hi}"' };
  expect(textOfSubmission({ ...SUBMISSION, Variables: 'count = 2\n', VariableFlags })?.variables).toBe(
    'count = 2\nimage = "redis:7"\ngreeting = "say \\"$${hi}\\""',
  );
});

it('a job that was sent as JSON has no file', () => {
  expect(textOfSubmission({ ...SUBMISSION, Format: 'json', Source: '{}' })).toBeUndefined();
});
