import { describe, expect, it } from 'vitest';
import { type JobSource, parseJob } from '../parse-job.js';
import { JobspecError } from '../syntax/diagnostic.js';

const parsed = (text: string, more: Partial<JobSource> = {}) =>
  JSON.parse(JSON.stringify(parseJob({ file: { name: 'input.hcl', text }, ...more }).job));
const inJob = (body: string, before = '') => parsed(`${before}job "x" {\n${body}\n}\n`);
const inTask = (body: string) => inJob(`task "t" {\n${body}\n}`).TaskGroups[0].Tasks[0];

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof JobspecError) return error.message;
    throw error;
  }
  return 'no error';
}
const wrong = (text: string) => refusal(() => parsed(text));
const wrongIn = (body: string) => refusal(() => inJob(body));

describe('the border to JSON', () => {
  it('JS-5: HCL1 is gone', () => {
    expect(wrong('job "x" {\n constraint {\n "attribute" = "a"\n }\n}')).toContain('Argument names must not be quoted');
    expect(wrong('job "x" {\n group "g" { count = 1, }\n}')).toContain('Invalid single-argument block definition');
  });

  it('JS-6: JSON is refused, with a word of where it belongs', () => {
    for (const text of [' \n{"Job": {"ID": "x"}}', '\uFEFF{"job": {"x": {}}}'])
      expect(wrong(text)).toMatch(/^input\.hcl:\d,1-2: JSON instead of HCL; .*-json/);
  });

  it('JS-192: an expression that fails is complained of once', () => {
    expect(wrongIn('priority = var.nope')).toBe(
      'input.hcl:2,15-20: Unsupported attribute; This object does not have an attribute named "nope".',
    );
  });

  it.each([
    [
      'job "x" {\n priorty = 1\n}',
      'input.hcl:2,2-9: Unsupported argument; An argument named "priorty" is not expected here. Did you mean "priority"?',
    ],
    [
      'terraform {}\njob "x" {}',
      'input.hcl:1,1-10: Unsupported block type; Blocks of type "terraform" are not expected here.',
    ],
    ['job {}', 'input.hcl:1,5-6: Missing name for job; All job blocks must have 1 labels (name).'],
    [
      'job "x" {\n datacenters = "dc1"\n}',
      'input.hcl:2,17-20: Unsuitable value type; Unsuitable value: list of string required, but have string',
    ],
    [
      'job "x" {\n region = var.r\n}',
      'input.hcl:2,14-16: Unsupported attribute; This object does not have an attribute named "r".',
    ],
  ])('JS-193: %j', (text, message) => expect(wrong(text)).toBe(message));

  it('JS-50: what each type takes and refuses', () => {
    expect(inJob('name = 1.50\npriority = "70"\nall_at_once = "true"\ndatacenters = [1, true]')).toMatchObject({
      Name: '1.5',
      Priority: 70,
      AllAtOnce: true,
      Datacenters: ['1', 'true'],
    });
    expect(inJob('name = null\ndatacenters = null')).toMatchObject({ Name: 'x', Datacenters: null });
    for (const [body, message] of [
      ['priority = "a"', 'a number is required'],
      ['priority = true', 'number required, but have bool'],
      ['priority = 1.5', 'value must be a whole number, between -9223372036854775808 and 9223372036854775807'],
      ['priority = 1 / 0', 'value must be a whole number'],
      ['all_at_once = "x"', 'a bool is required'],
      ['all_at_once = 1', 'bool required, but have number'],
      ['datacenters = [[]]', 'element 0: string required, but have tuple'],
      ['datacenters = [null]', 'null value is not allowed'],
      ['name = []', 'string required, but have tuple'],
      ['meta = []', 'map of string required'],
      ['meta = { a = null }', 'null value is not allowed'],
      ['spread { weight = 128 }', 'value must be a whole number, between -128 and 127'],
      ['spread {\n target "a" { percent = 256 }\n}', 'value must be a whole number, between 0 and 255 inclusive'],
    ] as const)
      expect(wrongIn(body)).toContain(`Unsuitable value type; Unsuitable value: ${message}`);
  });

  it.each([
    ['"1.5h"', 5_400_000_000_000],
    ['".5s"', 500_000_000],
    ['"-1m30s"', -90_000_000_000],
    ['"0"', 0],
    ['30', 30],
  ])('JS-51 JS-237: kill_timeout = %s is %d ns', (text, ns) =>
    expect(inTask(`kill_timeout = ${text}`).KillTimeout).toBe(ns),
  );

  it.each([
    ['"5d"', 'Unsuitable value type; Unsuitable duration value: time: unknown unit "d" in duration "5d"'],
    ['"30"', 'Unsuitable value type; Unsuitable duration value: time: missing unit in duration "30"'],
    ['""', 'Unsuitable value type; Unsuitable duration value: time: invalid duration ""'],
    ['null', 'Unsuitable value; Unsuitable duration value: nil'],
  ])('JS-51 JS-230: kill_timeout = %s is refused', (text, message) => {
    expect(refusal(() => inTask(`kill_timeout = ${text}`))).toContain(message);
  });

  it('JS-52 JS-53: neither runtime references nor units are numbers', () => {
    expect(wrongIn('group "g" { count = "${NOMAD_X}" }')).toContain('a number is required');
    expect(wrongIn('task "t" {\n resources { memory = "256MB" }\n}')).toContain('a number is required');
  });
});

describe('blocks', () => {
  it('JS-70: one job, and nothing strange beside it', () => {
    expect(wrong('')).toBe('<nil>: Missing job block; A job block is required');
    expect(wrong('job "x" {}\njob "y" {}')).toBe(
      'input.hcl:2,1-8: Duplicate job block; Only one block of type "job" is allowed. Previous definition was at input.hcl:1,1-8.',
    );
    expect(wrong('dynamic "job" {}\njob "x" {}')).toContain('Blocks of type "dynamic" are not expected here.');
  });

  it('JS-110: unknown names, with what may have been meant', () => {
    expect(wrongIn('group "g" { cuont = 1 }')).toContain(
      'An argument named "cuont" is not expected here. Did you mean "count"?',
    );
    expect(wrongIn('grup "g" {}')).toContain('Blocks of type "grup" are not expected here. Did you mean "group"?');
    expect(wrongIn('group = 1')).toContain('Did you mean to define a block of type "group"?');
    expect(wrongIn('group "g" {\n count {}\n}')).toContain(
      'Did you mean to define argument "count"? If so, use the equals sign to assign it a value.',
    );
    expect(wrongIn('constructor = 1\n toString {}')).toContain('An argument named "constructor" is not expected here.');
  });

  it('JS-111: labels', () => {
    expect(wrongIn('task {}')).toContain('Missing name for task; All task blocks must have 1 labels (name).');
    expect(wrongIn('group "g" {\n network {\n port {}\n }\n}')).toContain(
      'Missing  for port; All port blocks must have 1 labels ().',
    );
    expect(wrongIn('update "x" {}')).toContain(
      'Extraneous label for update; No labels are expected for update blocks.',
    );
    expect(wrongIn('group "g" {\n network {\n port "a" "b" {}\n }\n}')).toContain(
      'Extraneous label for port; Only 1 labels () are expected for port blocks.',
    );
  });

  it('JS-112: singular blocks once, of equal volumes the last, other repetitions kept', () => {
    expect(wrongIn('update {}\nupdate {}')).toBe(
      'input.hcl:3,1-7: Duplicate update block; Only one update block is allowed. Another was defined at input.hcl:2,1-7.',
    );
    expect(wrongIn('group "g" {\n vault {}\n vault {}\n}')).toContain('Duplicate vault block');
    const { TaskGroups } = inJob(
      'group "g" {\n volume "v" { source = "a" }\n volume "v" { source = "b" }\n}\ngroup "g" {}',
    );
    expect(TaskGroups).toHaveLength(2);
    expect(TaskGroups[0].Volumes.v.Source).toBe('b');
  });

  it('JS-113: what must be there', () => {
    expect(wrongIn('task "t" {\n lifecycle {}\n}')).toContain(
      'Missing required argument; The argument "hook" is required, but no definition was found.',
    );
    expect(wrongIn('task "t" {\n action "a" {}\n}')).toContain('"command" is required');
    expect(wrongIn('group "g" {\n scaling {}\n}')).toContain('"max" is required');
  });

  it('JS-114 JS-115 JS-235: maps as blocks and as attributes', () => {
    expect(inTask('env { A = 1 }\nmeta = { "a.b" = true }')).toMatchObject({
      Env: { A: '1' },
      Meta: { 'a.b': 'true' },
    });
    expect(inJob('meta {}').Meta).toEqual({});
    expect(wrongIn('meta { A = null }')).toContain('null value is not allowed');
    expect(wrongIn('meta {\n a.b = 1\n}')).not.toBe('no error');
    expect(wrongIn('group "g" {\n service {\n meta = {}\n }\n}')).toContain(
      'An argument named "meta" is not expected here. Did you mean to define a block of type "meta"?',
    );
    expect(wrongIn('task "t" {\n env = {}\n env {}\n}')).toContain(
      'Duplicate env block; env may not be defined more than once. Another definition is defined at input.hcl:3,2-5.',
    );
  });

  it('JS-116 JS-117: blocks without a schema', () => {
    expect(
      inTask(
        'config {\n mount { a = 1 }\n mount { a = 2 }\n l = { b = { c = 1 } }\n e = [{ d = 1 }]\n m = merge({}, { x = 1 })\n n = null\n z = [null]\n device "a" "b" { x = 1 }\n l { w = 1 }\n}',
      ).Config,
    ).toEqual({
      mount: [{ a: 1 }, { a: 2 }],
      l: [{ w: 1 }],
      e: [{ d: 1 }],
      m: { x: 1 },
      z: [null],
      device: [{ a: [{ b: [{ x: 1 }] }] }],
    });
    expect(inTask('config {\n labels = { b = { c = 1 } }\n}').Config).toEqual({ labels: [{ b: { c: 1 } }] });
    expect(wrongIn('task "t" {\n config = {}\n}')).toContain('Did you mean to define a block of type "config"?');
  });

  it('JS-1 JS-191: later stages wait, structure shows all its errors in order, free form only the first', () => {
    expect(
      wrongIn('task "t" {\n config { a = nope() }\n}\nbad2 = 1\nbad1 = 1')
        .split('\n')
        .map((line) => line.split(':')[1]),
    ).toEqual(['5,1-5', '6,1-5']);
    expect(wrongIn('task "a" {\n config { a = nope() }\n}\ntask "b" {\n config { a = nope() }\n}')).toContain(
      ', and 1 other diagnostic(s)',
    );
  });

  it('JS-3 JS-233: order of the file', () => {
    expect(inJob('group "z" {}\ngroup "a" {}').TaskGroups.map(({ Name }: { Name: string }) => Name)).toEqual([
      'z',
      'a',
    ]);
  });
});

describe('dynamic blocks', () => {
  const names = (job: { TaskGroups: { Name: string }[] }) => job.TaskGroups.map(({ Name }: { Name: string }) => Name);

  it('JS-100 JS-101: stand for blocks, in their place', () => {
    expect(
      names(
        inJob(
          'group "first" {}\ndynamic "group" {\n for_each = { b = 1, a = 2 }\n labels = ["${group.key}${group.value}"]\n content {}\n}\ngroup "last" {}',
        ),
      ),
    ).toEqual(['first', 'a2', 'b1', 'last']);
    expect(
      names(
        inJob(
          'dynamic "group" {\n for_each = ["p", "q"]\n iterator = it\n labels = ["${it.key}${it.value}"]\n content {}\n}',
        ),
      ),
    ).toEqual(['0p', '1q']);
  });

  it('JS-102 JS-103: what is wrong with one', () => {
    const dynamic = (body: string) => wrongIn(`dynamic "group" {\n${body}\n}`);
    expect(dynamic('for_each = []\ncontent {}')).toContain(
      'Missing required argument; The argument "labels" is required',
    );
    expect(dynamic('labels = ["a"]\ncontent {}')).toContain('The argument "for_each" is required');
    expect(dynamic('for_each = [1]\nlabels = ["a", "b"]\ncontent {}')).toContain(
      'Extraneous dynamic block label; Blocks of type "group" require 1 label(s).',
    );
    expect(dynamic('for_each = [1]\nlabels = [null]\ncontent {}')).toContain(
      'Cannot use a null value as a dynamic block label.',
    );
    expect(dynamic('for_each = [1]\nlabels = ["a"]')).toContain('Missing dynamic content block');
    expect(dynamic('for_each = null\nlabels = ["a"]\ncontent {}')).toContain('Cannot use a null value in for_each.');
    expect(dynamic('for_each = "s"\nlabels = ["a"]\ncontent {}')).toContain(
      'Cannot use a string value in for_each. An iterable collection is required.',
    );
    expect(wrongIn('dynamic "grop" {}')).toContain('input.hcl:2,9-15: Unsupported block type');
  });

  it('JS-104 JS-66 JS-234: cardinality, iterators in maps, and what they hide', () => {
    const meta = (list: string) => `dynamic "meta" {\n for_each = ${list}\n content { a = meta.value }\n}`;
    expect(inJob(meta('[1]')).Meta).toEqual({ a: '1' });
    expect(wrongIn(meta('[1, 2]'))).toContain('Duplicate meta block');
    expect(inTask('env { A = "${env["HOME"]}" }').Env).toEqual({ A: '${env["HOME"]}' });
    expect(refusal(() => inTask('dynamic "env" {\n for_each = [1]\n content { A = "${env["HOME"]}" }\n}'))).not.toBe(
      'no error',
    );
  });

  it('jobspec.md 15: not more than ten thousand', () => {
    const many = (inner: string) => `dynamic "constraint" {\n for_each = ${inner}\n content { value = 1 }\n}`;
    expect(wrongIn(Array.from({ length: 11 }, () => many('range(1000)')).join('\n'))).toContain(
      'dynamic blocks make more than 10000 blocks',
    );
  });
});

describe('special forms', () => {
  it('JS-150 JS-151: of several shorthands the last of the list wins; presence and distinct ones', () => {
    const constraint = (body: string) => inJob(`constraint {\n${body}\n}`).Constraints[0];
    expect(constraint('regexp = "r"\nversion = "v"\noperator = "="')).toEqual({
      LTarget: '',
      RTarget: 'r',
      Operand: 'regexp',
    });
    expect(constraint('distinct_hosts = false')).toEqual({ LTarget: '', RTarget: 'false', Operand: 'distinct_hosts' });
    expect(constraint('attribute = "a"\nis_set = true').Operand).toBe('is_set');
    expect(constraint('attribute = "a"\nset_contains_any = "x"')).toEqual({
      LTarget: 'a',
      RTarget: 'x',
      Operand: 'set_contains_any',
    });
    expect(wrongIn('constraint { distinct_hosts = "x" }')).toContain(
      'Incorrect attribute value type; Inappropriate value for attribute "distinct_hosts": a bool is required.',
    );
    expect(wrongIn('affinity { weight = 200 }')).toContain('between -128 and 127');
  });

  it('JS-152: the old ports count only without new ones', () => {
    const network = (body: string) => inJob(`group "g" {\n network {\n${body}\n }\n}`).TaskGroups[0].Networks[0];
    expect(network('reserved_ports "a" { static = 1 }').ReservedPorts).toHaveLength(1);
    expect(network('reserved_ports "a" { static = 1 }\nport "b" {}')).toMatchObject({
      ReservedPorts: null,
      DynamicPorts: [{ Label: 'b' }],
    });
  });

  it('JS-153: vault and secrets come from further out', () => {
    const job = inJob(
      'vault { role = "j" }\nsecret "j" {}\ngroup "g" {\n secret "g" {}\n task "t" {\n secret "t" {}\n }\n}\ngroup "h" {\n vault { role = "h" }\n task "u" {}\n}',
    );
    const [g, h] = job.TaskGroups;
    expect(g.Tasks[0]).toMatchObject({ Vault: { Role: 'j' }, Secrets: [{ Name: 't' }, { Name: 'g' }, { Name: 'j' }] });
    expect(h.Tasks[0].Vault.Role).toBe('h');
    expect(Object.keys(g).filter((key) => /vault|\$/iu.test(key))).toEqual([]);
  });

  it('JS-154: scaling', () => {
    expect(wrongIn('group "g" {\n scaling {\n max = 1\n type = "x"\n }\n}')).toContain(
      'Invalid group scaling type; task group scaling policy had invalid type: "x"',
    );
    expect(inTask('scaling "CPU" {}').ScalingPolicies[0].Type).toBe('vertical_cpu');
    expect(wrongIn('task "t" {\n scaling "x" {}\n}')).toContain(
      'Invalid scaling policy name; scaling policy name must be "cpu" or "mem"',
    );
    expect(wrongIn('task "t" {\n scaling "cpu" {}\n scaling "cpu" {}\n}')).toContain('Duplicate scaling "cpu" block');
  });

  it('JS-155: tasks without a group come first', () => {
    expect(inJob('group "g" {}\ntask "t" {}').TaskGroups.map(({ Name }: { Name: string }) => Name)).toEqual(['t', 'g']);
  });

  it('JS-156: the first unnamed identity is the task’s own', () => {
    expect(inTask('identity { name = "a" }\nidentity { name = "default" }\nidentity { env = true }')).toMatchObject({
      Identity: { Name: 'default' },
      Identities: [{ Name: 'a' }, { Env: true }],
    });
  });

  it('JS-157: some defaults are filled in always', () => {
    expect(inJob('periodic { cron = "@daily" }').Periodic).toMatchObject({ SpecType: 'cron', Enabled: null });
    expect(inJob('periodic {}').Periodic.SpecType).toBeNull();
    expect(inTask('vault {}').Vault).toMatchObject({
      Env: true,
      DisableFile: false,
      ChangeMode: 'restart',
      Cluster: '',
    });
    expect(inTask('template {\n change_script {}\n}').Templates[0]).toMatchObject({
      Perms: '0644',
      Once: null,
      ChangeScript: { Args: [], Timeout: 5e9 },
    });
  });

  it('JS-158: connect is passed on', () => {
    const service =
      'service {\n connect {\n sidecar_service {\n proxy {\n upstreams {\n destination_name = "db"\n local_bind_port = 1\n }\n transparent_proxy { exclude_uids = ["1"] }\n }\n }\n }\n}';
    expect(inJob(`group "g" {\n${service}\n}`).TaskGroups[0].Services[0].Connect.SidecarService.Proxy).toMatchObject({
      Upstreams: [{ DestinationName: 'db', LocalBindPort: 1 }],
      TransparentProxy: { ExcludeUIDs: ['1'] },
    });
  });
});

describe('canonicalisation', () => {
  const canonical = (body: string) => parsed(`job "x" {\n${body}\n}`, { canonicalise: true });

  it('JS-236: zeros that were written stay', () => {
    const [group] = canonical(
      'datacenters = []\ngroup "g" {\n count = 0\n disconnect { replace = false }\n update { progress_deadline = "0s" }\n}',
    ).TaskGroups;
    expect(group).toMatchObject({
      Count: 0,
      Disconnect: { Replace: false, Reconcile: 'best_score' },
      Update: { ProgressDeadline: 0, MaxParallel: 1 },
    });
  });

  it('JS-171: update blocks of jobs that run long, and of no others', () => {
    for (const type of ['service', 'system']) {
      const job = canonical(`type = "${type}"\ngroup "g" {\n update { canary = 2 }\n}`);
      expect(job).toMatchObject({
        Update: { Canary: 0, MaxParallel: 1 },
        TaskGroups: [{ Update: { Canary: 2, Stagger: 30e9 } }],
      });
    }
    expect(canonical('type = "sysbatch"\ngroup "g" {}')).toMatchObject({
      Update: null,
      TaskGroups: [{ Update: null }],
    });
    expect(canonical('update { canary = 1 }\ngroup "g" {}').TaskGroups[0].Update).toMatchObject({ Canary: 1 });
  });

  it('JS-172 JS-173: policies of the job under those of the group, by type', () => {
    const [group] = canonical(
      'type = "batch"\nreschedule { attempts = 4 }\ngroup "g" {\n reschedule { delay = "1s" }\n restart { attempts = 1 }\n task "t" {\n restart { delay = "2s" }\n }\n}',
    ).TaskGroups;
    expect(group.ReschedulePolicy).toMatchObject({ Attempts: 4, Delay: 1e9, DelayFunction: 'constant' });
    expect(group.Tasks[0].RestartPolicy).toMatchObject({ Attempts: 1, Delay: 2e9, Mode: 'fail' });
    expect(group).toMatchObject({ Update: null, Migrate: null });
  });

  it('JS-174: names, destinations, signals, counters', () => {
    const [group] = canonical(
      'group "g" {\n service {\n check_restart { limit = 3 }\n check {\n success_before_passing = -1\n failures_before_critical = -2\n failures_before_warning = 2\n }\n }\n task "t" {\n artifact {\n source = "http://a/b.zip?c"\n mode = "file"\n }\n template { change_mode = "signal" }\n }\n}',
    ).TaskGroups;
    expect(group.Services[0]).toMatchObject({
      Name: 'x-g',
      Checks: [
        {
          CheckRestart: { Limit: 3, Grace: 1e9 },
          OnUpdate: 'require_healthy',
          SuccessBeforePassing: 0,
          FailuresBeforeCritical: 0,
          FailuresBeforeWarning: 2,
        },
      ],
    });
    expect(group.Tasks[0]).toMatchObject({
      Artifacts: [{ RelativeDest: 'local/b.zip?c' }],
      Templates: [{ ChangeSignal: 'SIGHUP' }],
    });
  });

  it('JS-170: a template without change_signal has an empty one, a sidecar task what every task has, a job its own Migrate', () => {
    const job = canonical(
      'migrate { max_parallel = 2 }\ngroup "g" {\n service {\n connect {\n sidecar_task { driver = "docker" }\n }\n }\n task "t" {\n template {}\n }\n}',
    );
    expect(job.Migrate).toEqual({ MaxParallel: 2, HealthCheck: null, MinHealthyTime: null, HealthyDeadline: null });
    const [group] = job.TaskGroups;
    expect(group.Migrate).toMatchObject({ MaxParallel: 2, HealthCheck: 'checks' });
    expect(group.Tasks[0].Templates).toMatchObject([{ ChangeSignal: '' }]);
    expect(group.Services[0].Connect.SidecarTask).toMatchObject({
      KillTimeout: 5e9,
      ShutdownDelay: 0,
      Resources: { CPU: 100, MemoryMB: 300 },
      LogConfig: { MaxFiles: 10, MaxFileSizeMB: 10 },
      Config: null,
      Env: null,
      Meta: null,
    });
  });

  it('JS-175 JS-230: an unknown type of job is no crash', () => {
    expect(canonical('type = "odd"\ngroup "g" {}').TaskGroups[0].ReschedulePolicy).toMatchObject({
      Attempts: 0,
      Delay: 0,
    });
  });
});
