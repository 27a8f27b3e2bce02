import { Refusal } from '@waybill/model';

/** An answer that only HTTP has a status for; everything else that is refused is a `Refusal` with a code (API-35). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** 400: the request itself is wrong. */
export const badRequest = (text: string): Refusal => new Refusal('invalid', text);
/** 403 */
export const forbidden = (text: string): Refusal => new Refusal('forbidden', text);
/** 404: the request names what does not exist. */
export const notFound = (text: string): Refusal => new Refusal('not-found', text);
/** 409: the present state of the object does not allow it. */
export const conflict = (text: string): Refusal => new Refusal('conflict', text);
/** 500: the server failed, through no fault of the request (API-36 lists these answers). */
export const serverFailure = (text: string): Refusal => new Refusal('internal', text);
/** 503: ask again. */
export const unavailable = (text: string): Refusal => new Refusal('unavailable', text);
/** A path that is known, asked in a way that it does not take (API-3). */
export const invalidMethod = (): ApiError => new ApiError(405, 'Invalid method');
/** Where the handshake of a WebSocket is expected, and a plain request came. */
export const onlyWebSockets = (): Refusal => badRequest('this path takes WebSockets only');
/** What only the commercial edition of the reference has; its clients understand this text (API-9). */
export const enterpriseOnly = (): ApiError => new ApiError(501, 'Nomad Enterprise only endpoint');
