import { describe, expect, it } from 'vitest';
import { parseAgentConfig } from './parse-agent-config.js';

const parsed = (text: string) => parseAgentConfig({ name: 'agent.hcl', text });

describe('CL-922: a configuration file of the agent', () => {
  it('says what flags say, the metadata of the machine, and what has no effect', () => {
    const config = parsed(`
      data_dir   = "/data"
      datacenter = "dc2"
      log_json   = true
      nats       = "nats://log:4222"
      ports { http = 5000 }
      server {
        enabled          = true
        bootstrap_expect = 3
      }
      client {
        enabled    = false
        node_class = "big"
        meta { rack = "7" }
        host_volume "disk" { path = "/srv" }
      }
      telemetry { prometheus_metrics = true }
      plugin "docker" {
        config {
          gc { image = false }
        }
      }
      plugin "raw_exec" {}
      plugin_dir = "/plugins"
      plugin "podman" {
        args = ["-v"]
        config {
          socket_path = "unix:///run/podman.sock"
          gc { container = false }
        }
      }
      plugin "gpu" {}
    `);
    expect(config).toEqual({
      flags: {
        'data-dir': '/data',
        dc: 'dc2',
        'log-json': true,
        nats: 'nats://log:4222',
        'http-port': 5000,
        server: true,
        'node-class': 'big',
        'plugin-dir': '/plugins',
      },
      meta: { rack: '7' },
      plugins: {
        podman: { args: ['-v'], config: { socket_path: 'unix:///run/podman.sock', gc: [{ container: false }] } },
        gpu: {},
      },
      idle: ['bootstrap_expect', 'host_volume', 'plugin.docker', 'plugin.raw_exec', 'telemetry'],
    });
    expect(parsed('')).toEqual({ flags: {}, meta: {}, plugins: {}, idle: [] });
  });

  it('PG-30: options of a client name the drivers that may run, by their new or their old names', () => {
    const file = (name: string): string =>
      `client {\n options = {\n "${name}" = "docker,exec"\n "user.denylist" = "x"\n }\n }`;
    for (const name of ['driver.allowlist', 'driver.whitelist'])
      expect(parsed(file(name))).toMatchObject({
        flags: { 'driver-allowlist': 'docker,exec' },
        idle: ['options.user.denylist'],
      });
    for (const name of ['driver.denylist', 'driver.blacklist'])
      expect(parsed(file(name)).flags).toEqual({ 'driver-denylist': 'docker,exec' });
  });

  it('PG-21: an unknown key of a plugin is refused with its place', () => {
    expect(() => parsed('plugin "podman" {\n  arg = ["x"]\n}')).toThrow(
      /agent.hcl:2,3-6: Unsupported argument; .*"arg"/,
    );
  });

  it('OP-10: the default scheduler configuration is one value, with what is said to be false, without what is unsaid', () => {
    const block = 'pause_eval_broker = true\n preemption_config { system_scheduler_enabled = false }';
    const { flags, idle } = parsed(`server {\n default_scheduler_config {\n ${block}\n }\n }`);
    expect(JSON.parse(String(flags['default-scheduler-config']))).toEqual({
      PauseEvalBroker: true,
      PreemptionConfig: { SystemSchedulerEnabled: false },
    });
    expect(idle).toEqual([]);
    expect(() => parsed('server {\n default_scheduler_config {\n pause_broker = true\n }\n }')).toThrow(
      'agent.hcl:3,2-14: Unsupported argument',
    );
  });

  it.each([
    ['datacentr = "x"', 'agent.hcl:1,1-10: Unsupported argument; ', 'Did you mean "datacenter"?'],
    ['client {\n  enabled = "maybe"\n}', 'agent.hcl:2,14-19: ', 'a bool is required'],
    ['server {}\nserver {}', 'agent.hcl:2,', 'server'],
    ['client {', 'agent.hcl:1,8-9: ', 'Unclosed'],
  ])('%j is refused with its place', (text, place, why) => {
    expect(() => parsed(text)).toThrow(place);
    expect(() => parsed(text)).toThrow(why);
  });
});
