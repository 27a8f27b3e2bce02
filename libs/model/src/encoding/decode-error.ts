/**
 * The body of a request cannot be decoded: it is malformed, has a wrong type, or a number is out of range. The API
 * answers 400 (API-27).
 */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';

  /** A field has a value of the wrong JSON type. The message has the wording that clients know from Nomad's decoder. */
  static wrongType(found: unknown, field: string, wanted: string): DecodeError {
    return new DecodeError(`json: cannot unmarshal ${describe(found)} into Go struct field ${field} of type ${wanted}`);
  }
}

function describe(found: unknown): string {
  if (found === null) return 'null';
  if (Array.isArray(found)) return 'array';
  if (typeof found === 'boolean') return 'bool';
  return typeof found === 'number' ? `number ${found}` : typeof found;
}
