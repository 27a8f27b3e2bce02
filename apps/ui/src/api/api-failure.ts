/** The API refused a request, or could not be reached. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';

  /** @param status of HTTP; 0: nobody answered */
  constructor(
    readonly status: number,
    readonly method: string,
    readonly path: string,
    text: string,
  ) {
    super(text);
  }
}
