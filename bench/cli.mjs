import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from './harness.mjs';

const WAYBILL = fileURLToPath(new URL('../apps/cli/bin/waybill.js', import.meta.url));
const BUNDLE = fileURLToPath(new URL('../apps/cli/bundle.mjs', import.meta.url));
const JOBSPEC = new URL('../apps/cli/dist/bundle/jobspec.js', import.meta.url).href;
const LINES = 2000;
const STARTS = 15;

const start = promisify(execFile);

export const describe = 'The command line: cold starts, and the first parse of a long job file';

/** @param {import('./harness.mjs').Bench} ctx */
export async function run(ctx) {
  await start(process.execPath, [BUNDLE]);
  const dir = mkdtempSync(path.join(tmpdir(), 'waybill-bench-'));
  ctx.onEnd(() => rmSync(dir, { recursive: true, force: true }));
  const file = path.join(dir, 'long.nomad.hcl');
  writeFileSync(file, longJob(LINES));

  ctx.metric('versionMs', await coldStartMs(['version'], {}), { unit: 'ms', goal: { below: 150 } });

  // A server that answers at once: what is left is the command's own time.
  const server = createServer((_, answer) => answer.setHeader('Content-Type', 'application/json').end('[]'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ctx.onEnd(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const env = { WAYBILL_ADDR: `http://127.0.0.1:${port}` };
  ctx.metric('statusMs', await coldStartMs(['job', 'status'], env), { unit: 'ms', goal: { below: 150 } });

  const cold = await repeated(() => firstParseMs(file));
  ctx.metric('parseMs', cold, { unit: 'ms', goal: { below: 100 } });
}

/** @param {() => Promise<number>} measure @returns {Promise<number>} the median */
async function repeated(measure) {
  const found = [];
  for (let i = 0; i < STARTS; i++) found.push(await measure());
  return median(found);
}

/** @param {string[]} words @param {Record<string, string>} env */
function coldStartMs(words, env) {
  return repeated(async () => {
    const started = performance.now();
    await start(process.execPath, [WAYBILL, ...words], { env: { ...process.env, ...env } });
    return performance.now() - started;
  });
}

/**
 * As the command does it: from its bundle, once, in a new process; without the start of the process, with the loading of the parser.
 *
 * @param {string} file
 */
async function firstParseMs(file) {
  const script = `
    import { readFileSync } from 'node:fs';
    const started = performance.now();
    const { parseJob } = await import(${JSON.stringify(JOBSPEC)});
    parseJob({ file: { name: 'long.nomad.hcl', text: readFileSync(${JSON.stringify(file)}, 'utf8') } });
    process.stdout.write(String(performance.now() - started));`;
  const { stdout } = await start(process.execPath, ['--input-type=module', '--eval', script]);
  return Number(stdout);
}

/** A job of about that many lines: groups of twenty, with a bit of everything. @param {number} lines */
function longJob(lines) {
  const groups = Array.from(
    { length: Math.floor(lines / 20) },
    (_, at) => `  group "group-${at}" {
    count = var.count + ${at % 3}
    network {
      port "http" { to = 8080 }
    }
    task "server" {
      driver       = "raw_exec"
      kill_timeout = "45s"
      config {
        command = "/bin/sh"
        args    = ["-c", "echo \${upper(local.greeting)} from \${node.unique.name}", "\${NOMAD_PORT_http}"]
      }
      env = merge(local.env, { GROUP = "group-${at}" })
      template {
        destination = "local/file.conf"
        data        = "listen \${NOMAD_PORT_http}"
      }
    }
  }`,
  );
  return `variable "count" { default = 2 }
locals {
  greeting = "hello"
  env      = { A = "1", B = "2" }
}
job "long" {
${groups.join('\n')}
}
`;
}
