import { Refusal } from '@waybill/model';

/** ApiError is an answer whose status exists only in HTTP. Every other refusal is a `Refusal` with a code (API-35). */
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
/** 403: the caller may not do this. */
export const forbidden = (text: string): Refusal => new Refusal('forbidden', text);
/** 404: the request names an object that does not exist. */
export const notFound = (text: string): Refusal => new Refusal('not-found', text);
/** 409: the present state of the object does not allow it. */
export const conflict = (text: string): Refusal => new Refusal('conflict', text);
/** 500: the server failed, through no fault of the request (API-36 lists these answers). */
export const serverFailure = (text: string): Refusal => new Refusal('internal', text);
/** 503: the server cannot do it now; the same request may succeed later. */
export const unavailable = (text: string): Refusal => new Refusal('unavailable', text);
/** 405: the path exists, and does not take this method (API-3). */
export const invalidMethod = (): ApiError => new ApiError(405, 'Invalid method');
/** 400: a plain request came where the handshake of a WebSocket is expected. */
export const onlyWebSockets = (): Refusal => badRequest('this path takes WebSockets only');
/** 501: the endpoint exists in the reference's commercial edition only; its clients know this text (API-9). */
export const enterpriseOnly = (): ApiError => new ApiError(501, 'Nomad Enterprise only endpoint');
