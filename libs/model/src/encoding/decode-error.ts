/** The body is not what the endpoint takes: malformed, a wrong type, out of a number's range. Answered 400 (API-27). */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';

  /** A value of the wrong JSON type at a field, in the words clients know from the decoder. */
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
