import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { create } from 'tar';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeImage } from '../support/container-engine.js';
import {
  BUSYBOX,
  ContainerMachine,
  eventually,
  type MachineWithEngine,
  machineWithEngine,
} from '../support/container-machine.js';

const started = await machineWithEngine();
const whyNot = typeof started === 'string' ? started : undefined;

const jobFile = (name: string): string =>
  readFileSync(new URL(`../../examples/${name}.nomad.hcl`, import.meta.url), 'utf8');

/** A web server that says which instance it is. */
const WEB = {
  scripts: {
    web: `mkdir -p /srv/www
echo "$NAME" > /srv/www/index.html
echo ok > /srv/www/health
exec httpd -f -p "$PORT" -h /srv/www`,
  },
  changes: 'CMD ["/bin/web"]',
};

/**
 * Stands for nginx: forwards to the servers of its configuration, one after the other, and reads the configuration at
 * its start and on SIGHUP only.
 */
const NGINX = {
  scripts: {
    forward: `set -- $(cat /tmp/servers)
turn=$(cat /tmp/turn); echo $((turn + 1)) > /tmp/turn
shift $((turn % $#))
exec nc \${1%:*} \${1#*:}`,
    nginx: `load() { sed -n 's/^ *server \\([0-9.]*:[0-9]*\\);.*/\\1/p' /etc/nginx/conf.d/default.conf > /tmp/servers; }
listen=$(sed -n 's/^ *listen \\([0-9]*\\);/\\1/p' /etc/nginx/conf.d/default.conf)
echo 0 > /tmp/turn
trap load HUP
trap 'exit 0' TERM QUIT
load
nc -ll -p $listen -e /bin/forward &
while :; do wait; done`,
  },
  changes: 'CMD ["/bin/nginx"]',
};

/** Stands for PostgreSQL: keeps a line for each of its starts where its data is, and answers with them. */
const POSTGRES = {
  scripts: {
    answer: 'cat "$PGDATA/starts"',
    postgres: `mkdir -p "$PGDATA"
echo "started for $POSTGRES_USER on $NOMAD_PORT_db" >> "$PGDATA/starts"
exec nc -ll -p 5432 -e /bin/answer`,
  },
  changes: 'CMD ["/bin/postgres"]',
};

const TOTALS = `while IFS=, read -r what amount; do eval "sum=$(( \${sum:-0} + amount ))"; done < "$1"
echo "total: $sum"`;
const ORDERS = 'shoes,120\nhats,45\nshoes,80\n';

let box: ContainerMachine;
let dir: string;

describe.skipIf(whyNot !== undefined)(`public job files (${whyNot ?? 'an own dockerd'})`, () => {
  beforeAll(async () => {
    const own = started as MachineWithEngine;
    dir = mkdtempSync(path.join(tmpdir(), 'waybill-public-jobs-'));
    mkdirSync(path.join(dir, 'orders'));
    await makeImage(own.engine.docker, 'example/shop-web:1.4', WEB);
    await makeImage(own.engine.docker, 'nginx:1.27', NGINX);
    await makeImage(own.engine.docker, 'postgres:16', POSTGRES);
    await makeImage(own.engine.docker, 'busybox:1.36');
    await serveArtifacts(own);
    box = await ContainerMachine.start(own, { WAYBILL_HOST_VOLUMES: `orders=${path.join(dir, 'orders')}` });
  });
  afterAll(async () => {
    await box?.stop();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  });

  /** A web server of the machine, under the name that the job file gives it. */
  async function serveArtifacts({ machine }: MachineWithEngine): Promise<void> {
    const www = path.join(dir, 'www');
    mkdirSync(www);
    writeFileSync(path.join(www, 'orders.csv'), ORDERS);
    writeFileSync(path.join(dir, 'totals.sh'), TOTALS);
    await create({ cwd: dir, file: path.join(www, 'totals-1.2.tar.gz'), gzip: true }, ['totals.sh']);
    writeFileSync(path.join(dir, 'hosts'), '127.0.0.1 localhost artifacts.example.com\n');
    machine.run(`mount --bind ${path.join(dir, 'hosts')} /etc/hosts && ${BUSYBOX} httpd -p 80 -h ${www}`);
  }

  it('NW-31, NW-104, NW-113, AG-145: a web server on the bridge behind a proxy, found by its template, healthy by its checks', async () => {
    const id = await box.run(jobFile('web-proxy'));
    const allocs = await box.areHealthy(id, 3);
    expect(allocs.map(({ Name }) => Name).toSorted()).toEqual(['shop.proxy[0]', 'shop.web[0]', 'shop.web[1]']);
    const seen = new Set<string>();
    await eventually('both instances answered', () => {
      seen.add(box.get(box.client, box.address, 8080));
      return seen.has('shop.web[0]\n') && seen.has('shop.web[1]\n');
    });
    await eventually('its deployment is successful', async () => {
      const { Status } = await box.waybill.api.get<{ Status: string }>(`/v1/job/${id}/deployment`);
      return Status === 'successful' || Promise.reject(new Error(Status));
    });
    await box.waybill.api.stop(id);
    await box.nothingIsLeft();
  });

  it('NW-12, NW-104, AG-227, AG-294: a database with a volume, whose port is that of its task', async () => {
    const id = await box.run(jobFile('database'));
    const ask = (): string => box.client.tries(`${BUSYBOX} nc -w 2 ${box.address} 5432 < /dev/null`);
    await box.isHealthy(id);
    const line = 'started for orders on 5432\n';
    expect(await eventually('it answers', () => ask() || undefined)).toBe(line);
    const [service] = await box.waybill.api.get<unknown[]>('/v1/service/orders-db');
    expect(service).toMatchObject({ Port: 5432, Address: expect.stringMatching(/^\d+\.\d+\.\d+\.\d+$/) });
    await box.stopped(id);
    expect(ask()).toBe('');
    await box.run(jobFile('database'));
    expect(await eventually('it answers again', () => ask() || undefined)).toBe(line + line);
    await box.waybill.api.stop(id);
    await box.nothingIsLeft();
  });

  it('AG-290: a batch job with an archive and a checked file as artifacts', async () => {
    const id = await box.run(jobFile('report'));
    const { ID } = await box.inStatus(id, 'complete');
    const logs = `/v1/client/fs/logs/${ID}?task=totals&type=stdout&plain=true`;
    expect(await (await box.waybill.api.raw(logs)).text()).toBe('total: 245\n');
  });
});
