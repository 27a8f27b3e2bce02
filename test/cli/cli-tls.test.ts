import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.js';

let directory: string;
let before: string;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'waybill-tls-'));
  before = process.cwd();
  process.chdir(directory); // the files go where the command is run
});
afterAll(async () => {
  process.chdir(before);
  await rm(directory, { recursive: true });
});

const waybill = (...words: string[]) => runCli('http://127.0.0.1:1', ['tls', ...words]);

const read = (file: string) => readFile(path.join(directory, file), 'utf8');

describe('CL-937: certificates', () => {
  it('a CA, and certificates of it for servers, agents and people', async () => {
    expect(await waybill('ca', 'create')).toEqual({
      code: 0,
      out: '==> CA Certificate saved to: nomad-agent-ca.pem\n==> CA Certificate key saved to: nomad-agent-ca-key.pem\n',
      err: '',
    });
    const server = await waybill(
      'cert',
      'create',
      '-server',
      '-region=eu',
      '-days=30',
      '-additional-dnsname=waybill.example',
      '-additional-dnsname',
      'x.example',
      '-additional-ipaddress=10.0.0.7',
    );
    expect(server.out).toBe(
      '==> Using CA file nomad-agent-ca.pem and CA key nomad-agent-ca-key.pem\n' +
        '==> Server Certificate saved to eu-server-nomad.pem\n' +
        '==> Server Certificate key saved to eu-server-nomad-key.pem\n',
    );
    expect(server.err).toMatch(/^==> WARNING: Server Certificates grants authority/);
    expect((await waybill('cert', 'create', '-client')).out).toContain(
      '==> Client Certificate saved to global-client-nomad.pem',
    );
    expect((await waybill('cert', 'create', '-cli')).out).toContain(
      '==> Cli Certificate saved to global-cli-nomad.pem',
    );
    const ca = new X509Certificate(await read('nomad-agent-ca.pem'));
    for (const name of ['eu-server-nomad', 'global-client-nomad', 'global-cli-nomad']) {
      const certificate = new X509Certificate(await read(`${name}.pem`));
      expect(certificate.verify(ca.publicKey), name).toBe(true);
      expect((await stat(path.join(directory, `${name}-key.pem`))).mode & 0o777, name).toBe(0o600);
    }
    const info = await waybill('cert', 'info', 'eu-server-nomad.pem');
    expect(info.out.split('\n').map((line) => line.slice(0, 15).trim())).toEqual([
      'Serial Number',
      'Issuer CN',
      'Common Name',
      'Expiry Date',
      'DNS Names',
      'IP Addresses',
      '',
    ]);
    expect(info.out).toMatch(/^Serial Number {2}\d{30,}$/m);
    expect(info.out).toMatch(/^Issuer CN {6}Waybill Agent CA \d{30,}$/m);
    expect(info.out).toMatch(/^Common Name {4}CN=server\.eu\.nomad$/m);
    expect(info.out).toMatch(/^Expiry Date {4}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000 UTC$/m);
    expect(info.out).toMatch(/^DNS Names {6}\[server\.eu\.nomad localhost waybill\.example x\.example\]$/m);
    expect(info.out).toMatch(/^IP Addresses {3}\[127\.0\.0\.1 10\.0\.0\.7\]$/m);
    expect((await waybill('ca', 'info')).out).toMatch(/^Permitted DNS Domains {2}\[\]$/m);
  });

  it('existing files stay as they are', async () => {
    const ca = await read('nomad-agent-ca.pem');
    expect(await waybill('ca', 'create')).toEqual({
      code: 1,
      out: '',
      err: 'Error writing certificate: nomad-agent-ca.pem already exists\n',
    });
    expect(await waybill('cert', 'create', '-cli')).toMatchObject({
      code: 1,
      err: 'Error writing certificate: global-cli-nomad.pem already exists\n',
    });
    expect(await read('nomad-agent-ca.pem')).toBe(ca);
  });

  it('a CA with a name constraint, of another domain', async () => {
    const created = await waybill('ca', 'create', '-name-constraint', '-domain=foo.com', '-additional-domain=bar.com');
    expect(created.out).toContain('saved to: foo.com-agent-ca.pem\n');
    expect((await waybill('ca', 'info', 'foo.com-agent-ca.pem')).out).toMatch(
      /^Permitted DNS Domains {2}\[foo\.com localhost bar\.com\]$/m,
    );
    expect((await waybill('cert', 'create', '-server', '-domain=foo.com')).out).toContain('global-server-foo.com.pem');
    expect((await waybill('cert', 'info', 'global-server-foo.com.pem')).out).toContain('CN=server.global.foo.com');
  });

  it('what is wrong is said, and nothing is written', async () => {
    const files = await readdir(directory);
    await writeFile(path.join(directory, 'junk.pem'), 'junk');
    const failures = [
      [['cert', 'create'], 'Please provide either -server, -client, or -cli\n'],
      [['cert', 'create', '-server', '-cli'], 'Please provide either -server, -client, or -cli\n'],
      [['cert', 'create', '-cli', '-region=../x'], 'invalid value "../x" for flag -region: letters'],
      [['cert', 'create', '-cli', '-region=de', '-days=0'], 'invalid value "0" for flag -days: a number from 1 to'],
      [['cert', 'create', '-cli', '-region=de', '-additional-ipaddress=x'], 'for flag -additional-ipaddress: an IP'],
      [['cert', 'create', '-cli', '-region=de', '-additional-dnsname=a/b'], 'for flag -additional-dnsname: a DNS'],
      [['cert', 'create', '-cli', '-region=de', '-ca=none.pem'], 'Error reading file: open none.pem: no such file'],
      [['cert', 'create', '-cli', '-region=de', '-ca=junk.pem'], 'Error parsing junk.pem: there is no certificate'],
      [['cert', 'create', '-cli', '-region=de', '-key=global-cli-nomad-key.pem'], 'the key is not the key of the CA'],
      [['ca', 'create', '-domain=bar.com'], '-domain and -additional-domain are for a CA with -name-constraint'],
      [['ca', 'info', 'global-cli-nomad.pem'], 'global-cli-nomad.pem is not the certificate of a CA'],
      [['cert', 'info', 'junk.pem'], 'Error parsing junk.pem: there is no certificate in PEM'],
      [['cert', 'info'], 'This command takes one argument: <certificate file>'],
    ] as const;
    for (const [words, text] of failures) {
      const { code, err } = await waybill(...words);
      expect([code, err], words.join(' ')).toEqual([1, expect.stringContaining(text)]);
    }
    expect((await readdir(directory)).toSorted()).toEqual([...files, 'junk.pem'].toSorted());
  });
});
