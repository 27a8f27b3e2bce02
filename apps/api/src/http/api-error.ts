/** An answer that is no success: status and the plain text clients see and match (API-35). */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export const badRequest = (text: string): ApiError => new ApiError(400, text);
/** A path that is known, asked in a way that it does not take (API-3). */
export const invalidMethod = (): ApiError => new ApiError(405, 'Invalid method');
/** Where the handshake of a WebSocket is expected, and a plain request came. */
export const onlyWebSockets = (): ApiError => new ApiError(400, 'this path takes WebSockets only');
export const forbidden = (text: string): ApiError => new ApiError(403, text);
export const notFound = (text: string): ApiError => new ApiError(404, text);
/** Most failures of business rules are 500 on this API (API-36); clients match the text. */
export const failed = (text: string): ApiError => new ApiError(500, text);
/** What only the commercial edition of the reference has; its clients understand this text (API-9). */
export const enterpriseOnly = (): ApiError => new ApiError(501, 'Nomad Enterprise only endpoint');
export const unavailable = (text: string): ApiError => new ApiError(503, text);
