import { describe, expect, it } from 'vitest';
import { placedConfigFaults } from './config-places.js';

const TEXT = `job "web" {
  group "app" {
    task "main" {
      driver = "docker"
      config {
        imag = "x"
        mount {
          target = "/a"
        }
        mount {
          targe = "/b"
        }
        volume "data" {
          size = "big"
        }
        volume "logs" {
          size = "big"
        }
        labels { a = 1 }
        labels { b = 2 }
      }
    }
    task "bare" {
      driver = "docker"
    }
    dynamic "task" {
      for_each = ["generated"]
      labels   = [task.value]
      content {}
    }
  }
  task "alone" {
    config { command = 1 }
  }
}
`;

const lineOf = (TaskGroup: string, Task: string, ...Path: string[]): string =>
  placedConfigFaults({ name: 'web.hcl', text: TEXT }, [{ TaskGroup, Task, Path, Message: 'wrong' }]).message;

describe('the places of faults in a job file', () => {
  it.each<[string[], string]>([
    [['app', 'main', 'imag'], 'web.hcl:6,9-13'],
    [['app', 'main'], 'web.hcl:5,7-13'],
    [['app', 'main', 'mount', '1', 'targe'], 'web.hcl:11,11-16'],
    [['app', 'main', 'mount', '0', 'source'], 'web.hcl:7,9-14'],
    [['app', 'main', 'volume', 'logs', 'size'], 'web.hcl:17,11-15'],
    [['app', 'main', 'volume', 'data'], 'web.hcl:13,9-22'],
    [['app', 'main', 'labels', 'b'], 'web.hcl:20,18-19'],
    [['app', 'main', 'image'], 'web.hcl:5,7-13'],
    [['app', 'bare', 'image'], 'web.hcl:23,5-16'],
    [['app', 'generated', 'image'], 'web.hcl:2,3-14'],
    [['alone', 'alone', 'command'], 'web.hcl:33,14-21'],
    [['none', 'none', 'command'], 'web.hcl:1,1-10'],
  ])('PG-42: %j is at %s', ([group, task, ...path], place) => {
    expect(lineOf(group!, task!, ...path)).toBe(
      `${place}: Invalid config of task "${task}" in group "${group}"; wrong.`,
    );
  });

  it('PG-42: the line is shown with a mark', () => {
    const fault = { TaskGroup: 'app', Task: 'main', Path: ['imag'], Message: 'No argument is named "imag".' };
    expect(placedConfigFaults({ name: 'web.hcl', text: TEXT }, [fault]).illustrated).toBe(
      [
        'web.hcl:6,9-13: Invalid config of task "main" in group "app"; No argument is named "imag".',
        '  6 |         imag = "x"',
        '    |         ^^^^',
      ].join('\n'),
    );
  });
});
