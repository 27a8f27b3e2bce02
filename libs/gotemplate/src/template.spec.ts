import { describe, expect, it } from 'vitest';
import { TemplateFunctionError } from './builtins.js';
import { Template, type TemplateOptions } from './template.js';
import { TemplateExecutionError, TemplateLimitError, TemplateSyntaxError } from './template-error.js';

const run = (source: string, data: unknown = {}, options?: TemplateOptions): string =>
  new Template(source, options).execute(data);

const errorOf = (act: () => unknown): unknown => {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

describe('a template', () => {
  it('CL-160: full IDs, one a line', () => {
    const allocs = [{ ID: '1111-aaaa' }, { ID: '2222-bbbb' }];
    expect(run('{{range .}}{{.ID}}{{"\\n"}}{{end}}', allocs)).toBe('1111-aaaa\n2222-bbbb\n');
  });

  it('CL-160: an unknown field is an error, if wanted', () => {
    const options: TemplateOptions = { missingKey: 'error' };
    expect(() => run('{{range .}}{{.Id}}{{end}}', [{ ID: '1' }], options)).toThrow(
      'template: template:1:14: at <.Id>: map has no entry for key "Id"',
    );
  });

  it('may have delimiters of its own', () => {
    const delimiters = { left: '<<', right: '>>' };
    expect(run('{{.A}} <<- .A ->> x', { A: 1 }, { delimiters })).toBe('{{.A}}1x');
    expect(run('[[.A}}', { A: 1 }, { delimiters: { left: '[[', right: '' } })).toBe('1');
  });

  it('says where its text is wrong', () => {
    const error = errorOf(() => new Template('a\n b {{ if .X }}\n{{ nope }}{{end}}', { name: 'local/conf' }));
    expect(error).toBeInstanceOf(TemplateSyntaxError);
    expect(error).toMatchObject({ place: { template: 'local/conf', line: 3, column: 4 } });
    expect(String(error)).toContain('template: local/conf:3:4: function "nope" not defined');
  });

  it('prints whole numbers in full, also such as times in nanoseconds', () => {
    expect(run('{{.}} {{printf "%d" .}}', 1763712000000000000)).toBe('1763712000000000000 1763712000000000000');
    expect(run('{{.}}', 12345678901234567890n)).toBe('12345678901234567890');
  });
});

describe('functions', () => {
  const functions = {
    greet: (name: unknown) => `hello ${String(name)}`,
    fail: () => {
      throw new TemplateFunctionError('not today');
    },
    service: () => ({ Name: 'web', describe: (how: unknown) => `web, ${String(how)}` }),
    adder: () => (a: unknown, b: unknown) => Number(a) + Number(b),
  };

  it('are those of the caller and of Go', () => {
    expect(run('{{"you" | greet | printf "%q"}}', {}, { functions })).toBe('"hello you"');
    expect(run('{{call adder 1 2}}', {}, { functions })).toBe('3');
  });

  it('a field that is one is a method', () => {
    expect(run('{{with service}}{{.describe "well"}}{{end}} {{service.Name}}', {}, { functions })).toBe(
      'web, well web',
    );
  });

  it('what they throw is the error of the template', () => {
    const error = errorOf(() => run('x{{ fail }}', {}, { functions }));
    expect(error).toBeInstanceOf(TemplateExecutionError);
    expect(error).toMatchObject({
      message: 'template: template:1:5: at <fail>: error calling fail: not today',
      cause: new TemplateFunctionError('not today'),
    });
  });

  it('and, or look at no more than they need', () => {
    const calls: string[] = [];
    const note = { no: () => calls.push('no') > 9, yes: () => calls.push('yes') > 0 };
    expect(run('{{and no yes}} {{or yes no}}', {}, { functions: note })).toBe('false true');
    expect(calls).toEqual(['no', 'yes']);
  });
});

describe('own fields only', () => {
  it.each(['{{.constructor}}', '{{.__proto__}}', '{{.toString}}', '{{index . "constructor"}}', '{{.List.length}}'])(
    '%s',
    (source) => {
      const options: TemplateOptions = { missingKey: 'error' };
      const reached = (() => {
        try {
          return run(source, { List: [1] }, options);
        } catch (error) {
          return error instanceof TemplateExecutionError ? '<no value>' : String(error);
        }
      })();
      expect(reached).toBe('<no value>');
    },
  );
});

describe('what a template may take', () => {
  const many = Array.from({ length: 1000 }, (_, at) => at);

  it.each([
    ['turns of loops', '{{range .}}{{range $}}{{range $}}{{end}}{{end}}{{end}}', {}],
    ['turns over a number', '{{range 1000000000}}{{end}}', {}],
    ['output', '{{range .}}0123456789{{end}}', { outputLength: 5000 }],
    ['calls of itself', '{{define "a"}}{{template "a"}}{{end}}{{template "a"}}', {}],
    ['a string that doubles', `{{$x := "0123456789"}}${'{{$x = printf "%s%s" $x $x}}'.repeat(40)}`, {}],
    ['nested blocks', '{{if true}}'.repeat(200) + '{{end}}'.repeat(200), {}],
    ['nested parentheses', `{{${'('.repeat(5000)}1${')'.repeat(5000)}}}`, {}],
    ['its text', 'x'.repeat(100), { sourceLength: 99 }],
  ] as const)('%s', (_name, source, limits) => {
    expect(() => run(source, many, { limits })).toThrow(TemplateLimitError);
  });

  it('a value that contains itself is printed without an end only so deep', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    expect(run('{{.}}', circle)).toContain('...');
  });
});
