import { decodeFile } from './decoding/decode-file.js';
import type { JsonObject } from './decoding/json.js';
import type { Schema } from './decoding/schema.js';
import { csiVolumeSchema, hostVolumeSchema } from './decoding/volume-schema.js';
import { Evaluator } from './evaluation/evaluator.js';
import { Scope } from './evaluation/scope.js';
import { StepBudget } from './evaluation/step-budget.js';
import { functionTable } from './functions/functions.js';
import type { TextFile } from './parse-job.js';
import { parseBody } from './syntax/body-parser.js';
import { SourceText } from './syntax/source-text.js';
import type { Body } from './syntax/syntax-tree.js';

export type VolumeType = 'csi' | 'host';

const SCHEMAS: Readonly<Record<VolumeType, Schema>> = { csi: csiVolumeSchema, host: hostVolumeSchema };

/** A file with one volume in HCL, whose attributes are at the top level, without variables. */
export class VolumeFile {
  private readonly evaluator = new Evaluator(functionTable(undefined), new StepBudget());

  private constructor(private readonly body: Body) {}

  /** @throws JobspecError if the text is not HCL */
  static of({ name, text }: TextFile): VolumeFile {
    return new VolumeFile(parseBody(new SourceText(name, text)));
  }

  /** The value of `type`, or undefined if it is not a text. @throws JobspecError */
  get type(): string | undefined {
    const attribute = this.body.attributes.find(({ name }) => name === 'type');
    const value = attribute && this.evaluator.evaluate(attribute.value, Scope.EMPTY);
    return typeof value === 'string' ? value : undefined;
  }

  /** Decodes the volume into the API's form. @throws JobspecError with all diagnostics */
  decoded(type: VolumeType): JsonObject {
    return decodeFile('volume', SCHEMAS[type], this.body, this.evaluator);
  }
}
