/**
 * WebSockets with text messages (RFC 6455), both ends: exec sessions go over them, from the command line to the API. Node
 * has no server of its own and its client cannot set headers. Over connections that somebody else opened.
 */
export { CLOSE, type Closing, WebSocketProtocolError } from './frames.js';
export { handshakeAnswer, handshakeProblem, upgradeHeaders } from './handshake.js';
export { WebSocket, type WebSocketOptions } from './web-socket.js';
