import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parseDuration } from '@waybill/model/duration';
import { programOf } from '../agent/agent-process.js';
import { NO_ARGUMENTS, type ServerCommand } from '../command-spec.js';
import { CommandFailure, failed } from '../failure.js';
import { DATA_FLAGS } from '../terminal/data-printer.js';

/** Creates an introduction token for new nodes (AU-305). */
export const command: ServerCommand = {
  usage: '',
  description:
    'Creates a token by which a new node registers, and prints it. Put it into intro_token.jwt in the directory of ' +
    'the agent, or into WAYBILL_CLIENT_INTRO_TOKEN. With -node-name it is good for one node, otherwise for any number ' +
    'of nodes of the pool until it expires.\n\nWith -nats, prints instead the command by which a computer becomes a ' +
    'machine, where the "nodes" services admit machines to NATS.\n\nNeeds the capability node:write.',
  flags: [
    { name: 'node-name', kind: 'text', value: 'name', help: 'Only for a node with this name.' },
    { name: 'node-pool', kind: 'text', value: 'pool', help: 'Pool of the node (default "default").' },
    { name: 'ttl', kind: 'text', value: 'duration', help: 'Life of the token, such as 10m (default: of the servers).' },
    {
      name: 'nats',
      kind: 'text',
      value: 'url',
      help: 'Address at which the machine reaches NATS, such as tls://nats.example.com:4222.',
    },
    { name: 'nats-ca', kind: 'text', value: 'file', help: 'Certificate of the authority for NATS, in PEM.' },
    ...DATA_FLAGS,
  ],
  takes: NO_ARGUMENTS,
  async run({ api, flags, data, terminal }) {
    const TTL = flags.text('ttl') ?? '';
    if (TTL !== '' && parseDuration(TTL) === undefined)
      throw new CommandFailure(`Error parsing TTL: time: invalid duration ${JSON.stringify(TTL)}`);
    const nats = flags.text('nats');
    if (nats !== undefined && !/^(nats|tls):\/\/\S+$/.test(nats))
      throw new CommandFailure('-nats must be an address such as tls://nats.example.com:4222');
    if (nats === undefined && flags.text('nats-ca') !== undefined) throw new CommandFailure('-nats-ca needs -nats');
    const NodeName = flags.text('node-name') ?? '';
    const NodePool = flags.text('node-pool') ?? '';
    const answer = await api
      .put<{ JWT: string }>('/v1/acl/identity/client-introduction-token', { NodeName, NodePool, TTL })
      .catch((error: unknown) => {
        throw failed('generating introduction token', error);
      });
    if (data) {
      data(answer.exact);
      return 0;
    }
    if (nats !== undefined) {
      const token = await joinToken(nats, flags.text('nats-ca'), answer.value.JWT);
      const words = [
        ...(NodeName === '' ? [] : [`-node=${NodeName}`]),
        ...(NodePool === '' ? [] : [`-node-pool=${NodePool}`]),
        token,
      ];
      terminal.print(`waybill agent join -data-dir=waybill-machine ${words.join(' ')}`);
      return 0;
    }
    terminal.print(`Successfully generated client introduction token:\n\n${answer.value.JWT}`);
    return 0;
  },
};

/** Makes a token of `agent join` by a program of the agent. @throws CommandFailure */
async function joinToken(nats: string, caFile: string | undefined, introduction: string): Promise<string> {
  const ca = caFile === undefined ? {} : { ca: await authorityIn(caFile) };
  const child = spawn(process.execPath, [programOf('agent', 'enrol/join-token-main.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ nats, introduction, ...ca }));
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new CommandFailure('Error making the token of the machine');
  return out.trim();
}

async function authorityIn(file: string): Promise<string> {
  const pem = await readFile(file, 'utf8').catch((error: unknown) => {
    throw failed('reading the certificate of the authority', error);
  });
  if (pem.startsWith('-----BEGIN CERTIFICATE-----\n')) return pem;
  throw new CommandFailure(`${file} has no certificate in PEM`);
}
