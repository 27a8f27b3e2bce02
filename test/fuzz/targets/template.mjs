// Go templates of jobs and of the command line's output option.
import { Template, TemplateError, TemplateFunctionError } from '../../../libs/gotemplate/dist/index.js';
import { fixtures } from '../../../libs/state/dist/index.js';
import { declaring, same, timed } from '../harness.mjs';

const data = { ...fixtures.aJob({ Meta: { a: 'b' } }), List: [1, 2, 3], Text: 'text', None: null };
const limits = { steps: 10_000 };

export const fuzz = timed((bytes) => {
  const text = bytes.toString('utf8');
  const template = declaring([TemplateError], () => new Template(text, { limits }));
  if (template === undefined) return;
  const run = () => declaring([TemplateError, TemplateFunctionError], () => template.execute(data));
  same('the same output', run(), run());
});

export const seeds = () => [
  '{{range $i, $g := .TaskGroups}}{{$i}}: {{$g.Name | printf "%q"}}{{else}}none{{end}}',
  '{{with .Meta}}{{index . "a"}}{{end}}{{if and (eq .Text "text") (not .None)}}x{{else if lt 1 2}}y{{end}}',
  '{{define "t"}}{{.}}{{end}}{{template "t" .List}}{{- /* c */ -}}{{slice .Text 1 3}}{{len .List}}',
  '{{range .List}}{{if eq . 2}}{{continue}}{{end}}{{break}}{{end}}{{html "<"}}{{js "\'"}}{{urlquery "a b"}}',
  '{{printf "%05.2f %-5s %x %v %t %c %U" 3.14159 "a" 255 .List true 0x41 0x1F600}}{{block "b" .}}{{.ID}}{{end}}',
];
