/** NotDone says why the pages have not changed anything, and what to do. */
export class NotDone extends Error {
  override readonly name = 'NotDone';
}

/** ApiFailure says that the API refused a request or could not be reached. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';

  /** @param status the status of HTTP; 0 if there was no answer */
  constructor(
    readonly status: number,
    readonly method: string,
    readonly path: string,
    text: string,
  ) {
    super(text);
  }
}
