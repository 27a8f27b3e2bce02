import { describe, expect, it } from 'vitest';
import { associatedWorkload, ownPolicyTable, policyTable, rulesText } from './policy-text.js';

const stub = (
  Name: string,
  JobACL: { Namespace: string; JobID: string; Group: string; Task: string } | null = null,
) => ({
  Name,
  Description: `what ${Name} is for`,
  JobACL,
  Hash: '',
  CreateIndex: 1,
  ModifyIndex: 2,
});

describe('a policy as text', () => {
  it('CL-843: policies of a list have a name and a description', () => {
    expect(policyTable([stub('a')])).toMatch(/^Name +Description\na +what a is for$/);
  });

  it('CL-843, AU-302: the workload that a policy belongs to is named, where there is one', () => {
    const JobACL = { Namespace: 'default', JobID: 'web', Group: 'g', Task: '' };
    expect(associatedWorkload(stub('a'))).toBeUndefined();
    expect(associatedWorkload(stub('a', { ...JobACL, JobID: '' }))).toBeUndefined();
    expect(associatedWorkload(stub('a', JobACL))).toMatch(/^JobID += web$/m);
    const own = ownPolicyTable([stub('free'), stub('bound', JobACL)]).split('\n');
    expect(own[1]).toMatch(/^free +<unavailable> +<unavailable> +<unavailable>$/);
    expect(own[2]).toMatch(/^bound +web +g/);
  });

  it('CL-139: rules keep their tabs, and no other control character reaches the terminal', () => {
    const text = rulesText('a\t{\u001b[31m}\n\n');
    expect(text.startsWith('a\t{')).toBe(true);
    expect(text.endsWith('}')).toBe(true);
    expect(text).not.toContain('\u001b');
  });
});
