import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RecordedApi } from '../support/recorded-api.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));

describe('waybill operator api', () => {
  let api: RecordedApi;
  beforeEach(async () => {
    api = await RecordedApi.start();
    api.play('GET /v1/jobs', []);
  });
  afterEach(() => api.stop());

  /** @param input what is piped in; undefined: stdin is /dev/null */
  async function run(words: string[], input?: string, env: Record<string, string> = {}) {
    const child = spawn(process.execPath, [BIN, 'operator', 'api', ...words], {
      env: { PATH: '', WAYBILL_ADDR: api.url, ...env },
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    });
    let [out, err] = ['', ''];
    child.stdout?.on('data', (data) => (out += String(data)));
    child.stderr?.on('data', (data) => (err += String(data)));
    child.stdin?.end(input);
    const [code] = await once(child, 'close');
    return { code: Number(code), out, err };
  }

  it('CL-803: with /dev/null it is a GET, with a pipe a POST, whatever is in it', async () => {
    expect(await run(['/v1/jobs'])).toEqual({ code: 0, out: '[]', err: '' });
    api.play('POST /v1/jobs', [500, 'no\n']);
    expect(await run(['/v1/jobs'], '{"Job": 1}')).toEqual({ code: 0, out: 'no\n', err: '' });
    expect(api.seen.at(-1)).toMatchObject({ body: '{"Job": 1}', headers: { 'content-length': '10' } });
    await run(['/v1/jobs'], '');
    expect(api.seen.at(-1)?.line).toBe('POST /v1/jobs');
    await run(['-X', 'DELETE', '/v1/jobs'], 'x');
    expect(api.seen.at(-1)).toMatchObject({ line: 'DELETE /v1/jobs', body: 'x' });
  });

  it('CL-802, CL-804: hosts and URLs, parameters, headers; the token is never shown', async () => {
    const host = api.url.replace('http://', '');
    for (const target of [`${host}/v1/jobs`, `${api.url}/v1/jobs`]) expect((await run([target])).out).toBe('[]');
    const words = [
      '-namespace=dev',
      '-region=eu',
      '-filter',
      'A == 1',
      '-token=s3cret',
      '-verbose',
      '-H',
      'User-Agent: me',
    ];
    const { err } = await run([...words, '/v1/jobs?namespace=own']);
    expect(Object.fromEntries(api.seen.at(-1)?.query ?? [])).toEqual({
      namespace: 'own',
      region: 'eu',
      filter: 'A == 1',
    });
    expect(api.seen.at(-1)?.headers).toMatchObject({ 'user-agent': 'me', 'x-nomad-token': 's3cret' });
    expect(err).toMatch(/^> GET \/v1\/jobs\?/);
    expect(err).toContain('> X-Nomad-Token: <redacted>\n');
    expect(err).toContain('< HTTP/1.1 200 OK\n');
    expect(err).not.toContain('s3cret');
  });

  it('CL-802, CL-803: what is wrong', async () => {
    expect((await run([])).err).toMatch(/^A path or URL is required\n/);
    expect((await run(['a', 'b'])).err).toMatch(
      /^operator api accepts exactly 1 argument, but 2 arguments were found\n/,
    );
    const closed = await run(['http://127.0.0.1:1/v1/jobs']);
    expect(closed).toMatchObject({ code: 1, err: expect.stringMatching(/^Error performing request: Get "http:/) });
  });

  it('CL-802, CL-805, CL-128: -dryrun sends nothing, infers https, and keeps a token of the environment to itself', async () => {
    const { out } = await run(['-dryrun', '-tls-skip-verify', '/v1/jobs'], undefined, { NOMAD_TOKEN: 's3cret' });
    expect(out).toBe(
      `curl \\\n  --insecure \\\n  -H "X-Nomad-Token: \${NOMAD_TOKEN}" \\\n  '${api.url.replace('http:', 'https:')}/v1/jobs'\n`,
    );
    expect(api.seen).toEqual([]);
  });
});
