import { describe, expect, it } from 'vitest';
import { curlCommand } from './curl-command.js';

describe('operator api -dryrun', () => {
  it('CL-805: every option in its place, secrets by their variables', () => {
    expect(
      curlCommand({
        verbose: true,
        method: 'PUT',
        hasBody: true,
        url: new URL('https://10.0.0.1:4646/v1/jobs?z=1&a=b%20c'),
        socketPath: '/run/api',
        cacert: 'ca.pem',
        capath: 'cas',
        cert: 'c.pem',
        key: 'k.pem',
        insecure: true,
        serverName: 'server.global',
        headers: [['K', 'V']],
        token: { variable: 'NOMAD_TOKEN' },
        basicAuthVariable: 'NOMAD_HTTP_AUTH',
      }).split(' \\\n'),
    ).toEqual([
      'curl',
      '  --verbose',
      '  -X PUT',
      '  --data-binary @-',
      '  --unix-socket "/run/api"',
      '  --cacert "ca.pem"',
      '  --capath "cas"',
      '  --cert "c.pem"',
      '  --key "k.pem"',
      '  --insecure',
      '  --connect-to "server.global:4646:10.0.0.1:4646"',
      "  -H 'K: V'",
      '  -H "X-Nomad-Token: ${NOMAD_TOKEN}"',
      '  -u "$NOMAD_HTTP_AUTH"',
      "  'https://server.global:4646/v1/jobs?a=b+c&z=1'",
    ]);
  });

  it('CL-805: a GET without more; a token only literally when it was given so', () => {
    const url = new URL('http://127.0.0.1:4646/v1/jobs');
    const plain = { verbose: false, method: 'GET', hasBody: false, url, insecure: false, headers: [] };
    expect(curlCommand(plain)).toBe("curl \\\n  'http://127.0.0.1:4646/v1/jobs'");
    expect(curlCommand({ ...plain, token: { value: 's3cret' } })).toContain("-H 'X-Nomad-Token: s3cret'");
  });
});
