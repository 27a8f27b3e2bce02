import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../apps/cli/src/catalogue.js';
import { REFUSALS } from '../../apps/cli/src/refusals.js';
import { RecordedApi } from '../support/recorded-api.js';

const BIN = fileURLToPath(new URL('../../apps/cli/bin/waybill.js', import.meta.url));
const EXAMPLE = fileURLToPath(new URL('../../examples/hello.nomad.json', import.meta.url));
/** A process that is still there after this hangs. */
const HANGS_MS = 20_000;
const AT_ONCE = 4;

/** What makes a command get as far as its first request; others are called with as many words as they need. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  'acl policy apply': ['x', EXAMPLE],
  'acl role create': ['-name=x', '-policy=y'],
  'acl role update': ['-name=x', 'abcd'],
  'acl token self': ['-token=11111111-2222-4333-8444-555555555555'],
  'alloc exec': ['ab', 'sh'],
  'alloc fs': ['ab'],
  'alloc logs': ['ab'],
  'alloc status': ['ab'],
  'eval delete': ['ab'],
  'job action': ['-job=x', '-alloc=ab', 'go'],
  'job plan': [EXAMPLE],
  'job run': [EXAMPLE],
  'job scale': ['x', '3'],
  'job tag apply': ['-name=x', 'y'],
  'job tag unset': ['-name=x', 'y'],
  'job restart': ['-yes', '-on-error=fail', 'x'],
  'node drain': ['-enable', '-yes', 'ab'],
  'node eligibility': ['-enable', 'ab'],
  'namespace apply': ['x'],
};
const wordsOf = (words: string, min: number): string[] => [
  ...words.split(' '),
  ...(ARGUMENTS[words] ?? Array.from({ length: Math.min(min, 3) }, () => 'abcd')),
];

/** Commands that talk to a server, but those that read a file of their own first, go on without one, or print one address. */
const ELSEWHERE = /^(job (validate|init)|node pool (apply|init)|event tail|ui|trace)$/;

/** One of those that are refused stands for all: they are one piece of code. */
const isRepeated = (words: string): boolean => words in REFUSALS && words !== 'license get';

async function serverCommands(): Promise<(readonly [words: string, line: string[]])[]> {
  const all = await Promise.all(
    CATALOGUE.map(async ({ words, load }) => {
      const { command } = await load();
      return command.offline === true || ELSEWHERE.test(words) || isRepeated(words)
        ? []
        : [[words, wordsOf(words, command.takes.min)] as const];
    }),
  );
  return all.flat();
}

describe('how commands end', () => {
  let server: Server | undefined;
  afterEach(() => server?.close());

  async function run(line: readonly string[], address: string): Promise<{ code: unknown; out: string; err: string }> {
    const child = spawn(process.execPath, [BIN, ...line], {
      env: { PATH: '', WAYBILL_ADDR: address },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const timer = setTimeout(() => child.kill('SIGKILL'), HANGS_MS);
    let [out, err] = ['', ''];
    child.stdout.on('data', (data) => (out += String(data)));
    child.stderr.on('data', (data) => (err += String(data)));
    const [code, signal] = await once(child, 'close');
    clearTimeout(timer);
    return { code: code ?? signal, out, err };
  }

  /** What is wrong with how commands end against a server that is of no use. */
  async function complaints(address: string): Promise<string[]> {
    const left = await serverCommands();
    const found: string[] = [];
    const worker = async () => {
      for (let next = left.shift(); next; next = left.shift()) {
        const [words, line] = next;
        const { code, err } = await run(line, address);
        const said = err.trim().split('\n');
        if (code !== (words === 'job plan' ? 255 : 1))
          found.push(`${words} exits with ${String(code)}: ${err.slice(0, 200)}`);
        if (said[0] === '' || /^\s+at /m.test(err)) found.push(`${words} says: ${err.slice(0, 300)}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return found;
  }

  it('CL-1118, CL-1119: against a closed port every command says so once and is gone', async () => {
    expect(await complaints('http://127.0.0.1:1')).toEqual([]);
  }, 120_000);

  it('CL-1118, CL-1119: a page instead of an answer, and an end that leaves nothing open', async () => {
    server = createServer((_, response) => response.end('<html>hello</html>')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const found = await complaints(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    // What prints bytes as they are takes a page for an answer.
    expect(found.filter((one) => !/^operator (api|metrics) /.test(one))).toEqual([]);
  }, 120_000);

  it('CL-139, CL-1117: names with control characters drive no terminal, in any command', async () => {
    const api = await RecordedApi.start();
    const evil = 'a\u001b[31mb';
    const thing = {
      ID: evil,
      Name: evil,
      Namespace: evil,
      JobID: evil,
      Type: evil,
      Status: evil,
      Description: evil,
      NodeID: evil,
    };
    for (const path of ['jobs', 'nodes', 'evaluations', 'deployments', 'allocations', 'namespaces', 'node/pools'])
      api.play(`GET /v1/${path}`, [thing, { ...thing, ID: `${evil}2` }]);
    const outs: string[] = [];
    for (const words of ['job status', 'eval list', 'deployment list', 'namespace list', 'node pool list'])
      outs.push((await api.run(words.split(' '))).out);
    for (const words of [
      ['job', 'stop', 'a'],
      ['alloc', 'status', 'ab'],
      ['eval', 'status', 'ab'],
    ])
      outs.push(Object.values(await api.run(words)).join(''));
    api.stop();
    expect(outs.join('')).not.toContain('\u001b');
    expect(outs.join('')).toContain('a\\x1b[31mb');
  });
});
