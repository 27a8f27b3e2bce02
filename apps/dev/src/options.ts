import { isIP } from 'node:net';
import { Command, InvalidArgumentError } from 'commander';

/** LaunchOptions are the options of `npm start -- …`. */
export interface LaunchOptions {
  readonly port: number;
  readonly dataDir: string;
  readonly fresh: boolean;
  /** Says whether the database is built anew from the log. */
  readonly rebuildDatabase: boolean;
  readonly processes: boolean;
  readonly empty: boolean;
  /** Says whether callers need tokens. */
  readonly acl: boolean;
  /** Says whether this machine also runs tasks. */
  readonly agent: boolean;
  /** The name of this region. If it is undefined, the environment decides. */
  readonly region?: string;
  /** The URL of the NATS of each other region. */
  readonly peer: Readonly<Record<string, string>>;
  /** Says when nats-server syncs to disk: `always` (before it acknowledges), or an interval. */
  readonly sync: string;
  /**
   * The port where machines and other regions reach the nats-server. 0 stands for the port of the last start, or any
   * free port.
   */
  readonly natsPort: number;
  /** Says whether all connections use TLS, with certificates that are made in the data directory. */
  readonly tls: boolean;
  /** The address on which nats-server listens. */
  readonly natsBind: string;
}

/** Reads the command line. For help or a mistake it prints the help or a clear error and ends the process. */
export function readOptions(argv: readonly string[]): LaunchOptions {
  const command = new Command('npm start --')
    .description('Starts all of Waybill on this machine: nats-server, PostgreSQL, every service and one agent.')
    .option('--port <port>', 'port of the HTTP API on 127.0.0.1', portNumber, 4646)
    .option('--data-dir <directory>', 'where everything is kept', '.waybill')
    .option('--fresh', 'remove what is kept there and begin with nothing', false)
    .option('--rebuild-database', 'put the database aside and fill a new one from the log (docs/backups.md)', false)
    .option('--processes', 'run every service in a process of its own, as in production', false)
    .option('--empty', 'do not register examples/hello.nomad.json', false)
    .option('--acl', 'turn access control on: callers need tokens (docs/access-control.md)', false)
    .option('--no-agent', 'start no agent: other machines run the tasks')
    .option('--sync <when>', 'when the log is synced to disk: always, or an interval such as 100ms', syncWhen, '100ms')
    .option('--tls', 'make certificates in the data directory, and encrypt everything (docs/tls.md)', false)
    .option('--region <name>', 'name of this region')
    .option('--peer <region=url>', 'another region, its NATS and #file of credentials; once for each', peers, {})
    .option(
      '--nats-port <port>',
      'port of nats-server (default: that of before where machines have joined, else any that is free)',
      portNumber,
      0,
    )
    .option(
      '--nats-bind <address>',
      'address of nats-server, for machines on other computers (docs/machines.md)',
      ipAddress,
      '127.0.0.1',
    )
    .helpOption('-h, --help', 'show this text')
    .allowExcessArguments(false);
  command.parse([...argv], { from: 'user' });
  return command.opts<LaunchOptions>();
}

function peers(text: string, known: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const [, region, url] = /^([^=,]+)=((?:nats|tls):\/\/[^,]+)$/.exec(text) ?? [];
  if (region === undefined || url === undefined)
    throw new InvalidArgumentError('a peer is a region and the URL of its NATS: west=nats://127.0.0.1:4302');
  return { ...known, [region]: url };
}

function ipAddress(text: string): string {
  if (isIP(text) === 0)
    throw new InvalidArgumentError('an address is the IP of this computer, or 0.0.0.0 for all it has');
  return text;
}

function syncWhen(text: string): string {
  if (!/^(always|\d{1,6}(ms|s|m))$/.test(text))
    throw new InvalidArgumentError('the log is synced always, or at an interval such as 100ms or 2s');
  return text;
}

function portNumber(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    throw new InvalidArgumentError('a port is a number from 1 to 65535');
  return port;
}
