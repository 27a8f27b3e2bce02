import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { ApiClient } from './api-client.js';

interface Described {
  readonly responses: { readonly '200': { readonly content?: object } };
}
interface Document {
  readonly paths: Record<string, Record<string, Described>>;
}

/** The answers of a running API held against the description that it serves of itself. */
export class DescribedAnswers {
  private readonly ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
  private readonly checks = new Map<string, ValidateFunction>();
  private readonly paths: readonly (readonly [template: string, pattern: RegExp])[];
  /** What was held against the description, as `get /v1/job/{jobID}`. */
  readonly seen = new Set<string>();

  private constructor(private readonly document: Document) {
    this.ajv.addSchema({ $id: 'api', ...document });
    const byLength = Object.keys(document.paths).toSorted(
      (a, b) => partsOf(b) - partsOf(a) || variables(a) - variables(b),
    );
    // An ID may hold slashes, so the longest description that fits is meant (API-5).
    this.paths = byLength.map((path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '(.+)')}$`)]);
  }

  static async of(api: ApiClient): Promise<DescribedAnswers> {
    return new DescribedAnswers(await api.get<Document>('/v1/waybill/openapi.json'));
  }

  /** @throws when the answer is none of those described */
  readonly check = (method: string, path: string, body: unknown): void => {
    const verb = method.toLowerCase();
    const template = this.paths.find(([one, pattern]) => pattern.test(path) && this.document.paths[one]?.[verb])?.[0];
    if (template === undefined) throw new Error(`${method} ${path} is not described`);
    this.seen.add(`${verb} ${template}`);
    const content = this.document.paths[template]?.[verb]?.responses['200'].content;
    if (content === undefined) {
      if (body !== undefined) throw new Error(`${method} ${path} answers a body, and none is described`);
      return;
    }
    const validate = this.validator(template, verb);
    if (!validate(body)) {
      const [error] = validate.errors ?? [];
      throw new Error(`${verb} ${template}: ${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}`);
    }
  };

  private validator(template: string, verb: string): ValidateFunction {
    const key = `${verb} ${template}`;
    const known = this.checks.get(key);
    if (known) return known;
    const pointer = ['paths', template, verb, 'responses', '200', 'content', 'application/json', 'schema'];
    const escaped = pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1')));
    const made = this.ajv.compile({ $ref: `api#/${escaped.join('/')}` });
    this.checks.set(key, made);
    return made;
  }
}

const partsOf = (path: string): number => path.split('/').length;
const variables = (path: string): number => path.split('{').length;
