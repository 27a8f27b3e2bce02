import { describe, expect, it } from 'vitest';
import { builtInConfigFaults } from './built-in-configs.js';
import { checkDockerConfig } from './docker-config.js';
import { checkRawExecConfig } from './raw-exec-config.js';

const faults = (driver: string, config: Record<string, unknown>) =>
  builtInConfigFaults(driver, config)?.map(({ path, message }) => [path.join('/'), message]);

describe('the configurations of built-in drivers', () => {
  it('PG-42: each has faults with their places, and other drivers are not judged', () => {
    expect(faults('docker', { image: 'i', mount: [{ target: '/a' }, { targe: '/b' }] })).toEqual([
      ['mount/1/target', 'mount.1.target: Invalid input: expected string, received undefined'],
      ['mount/1/targe', 'unknown key "mount.1.targe" in the configuration of docker'],
    ]);
    expect(faults('exec', { args: ['x'] })).toEqual([['command', 'command is required']]);
    expect(faults('exec', { command: '/bin/true', comand: 'x', pid_mode: 'all' })).toEqual([
      ['pid_mode', expect.stringMatching(/^pid_mode: /)],
      ['comand', 'unknown key "comand" in the configuration of exec'],
    ]);
    expect(faults('mock_driver', { run_for: 5, runfor: 1 })).toEqual([
      ['runfor', 'unknown key "runfor" in the configuration of mock_driver'],
    ]);
    expect(faults('raw_exec', {})).toEqual([['command', 'command is required']]);
    expect(faults('podman', { anything: 1 })).toBeUndefined();
  });

  it('PG-42: a value with ${…} may become any value, but a key that lacks or is too much is a fault', () => {
    expect(faults('docker', { image: '${NOMAD_META_image}', privileged: '${meta.is_privileged}' })).toEqual([]);
    expect(faults('docker', { image: 'i', privileged: 'yes' })).toHaveLength(1);
    expect(faults('docker', { image: 'i', logging: [{ type: ['${meta.type}'] }] })).toEqual([]);
    expect(faults('docker', { image: 'i', logging: [{ typ: '${meta.type}' }] })).toEqual([
      ['logging/typ', 'unknown key "logging.typ" in the configuration of docker'],
    ]);
    expect(faults('exec', { args: ['${NOMAD_PORT_http}'] })).toEqual([['command', 'command is required']]);
    expect(faults('raw_exec', { command: '/bin/true', work_dir: '${NOMAD_TASK_DIR}/a' })).toEqual([]);
  });

  it.each<[Record<string, unknown>, string]>([
    [{ command: '' }, 'command is required'],
    [{ command: 'a', args: 'x' }, 'args must be a list of strings'],
    [{ command: 'a', args: [{}] }, 'args must be a list of strings'],
    [{ command: 'a', work_dir: 'here' }, 'work_dir must be an absolute path'],
    [{ command: 'a', oom_score_adj: -1 }, 'oom_score_adj must not be negative'],
    [{ command: 'a', oom_score_adj: 1_001 }, 'oom_score_adj must be a whole number of at most 1000'],
    [{ command: 'a', oom_score_adj: 1.5 }, 'oom_score_adj must be a whole number of at most 1000'],
    [{ command: 'a', cgroup_v2_override: '' }, 'cgroup_v2_override must be the path of a cgroup'],
    [
      { command: 'a', cgroup_v1_override: [{ cpu: '' }] },
      'cgroup_v1_override must name the path of a cgroup for each controller',
    ],
    [
      { command: 'a', cgroup_v1_override: { cpu: 'x' }, cgroup_v2_override: 'y' },
      'only one of cgroups_v1_override and cgroups_v2_override may be set',
    ],
  ])('AG-271: raw_exec refuses %j', (config, message) => {
    expect(checkRawExecConfig(config).faults?.map((fault) => fault.message)).toEqual([message]);
  });

  it('AG-271: raw_exec reads its configuration', () => {
    const config = { command: 'a', args: ['-p', 80, true], cgroup_v1_override: [{ cpu: 'x' }, { memory: 'y' }] };
    expect(checkRawExecConfig(config)).toEqual({
      config: {
        command: 'a',
        args: ['-p', '80', 'true'],
        workDir: undefined,
        deniedVariables: [],
        oomScoreAdj: undefined,
        cgroupV1: [
          ['cpu', 'x'],
          ['memory', 'y'],
        ],
        cgroupV2: undefined,
      },
    });
  });

  it('PG-42: values are converted as job files of other tools have them', () => {
    const given = {
      image: 'i',
      privileged: 'true',
      init: '0',
      shm_size: '67108864',
      hostname: 7,
      auth: { username: 'ann', password: 12_345 },
      cpuset_cpus: 3,
      args: null,
      mount: { target: '/data', readonly: 'false', source: null },
      mounts: [{ target: '/a', volume_options: [{ driver_config: [{ options: { o: 1 } }] }] }],
    };
    expect(checkDockerConfig(given)).toMatchObject({
      config: {
        privileged: true,
        init: false,
        shm_size: 67_108_864,
        hostname: '7',
        auth: { username: 'ann', password: '12345' },
        cpuset_cpus: '3',
        args: [],
        mount: [{ target: '/data', readonly: false, source: '' }],
        mounts: [{ volume_options: { driver_config: { name: '', options: { o: '1' } } } }],
      },
    });
    expect(faults('exec', { command: '/bin/true', pid_mode: '', ipc_mode: null })).toEqual([]);
    expect(checkRawExecConfig({ command: 'a', oom_score_adj: '5' })).toMatchObject({ config: { oomScoreAdj: 5 } });
    expect(faults('docker', { image: 'i', privileged: 'yes', shm_size: '64m', hostname: {} })).toHaveLength(3);
  });

  it('a list of very many blocks is a fault, not a failure', () => {
    const labels = Array.from({ length: 200_000 }, () => ({ a: 'b' }));
    expect(faults('docker', { image: 'i', labels })).toEqual([]);
    expect(faults('docker', { image: 'i', labels: labels.map(() => 1) })).toHaveLength(1);
  });
});
