/** WebSockets with text messages, both ends: exec sessions go over them, from the command line to the API. */
export { CLOSE, type Closing, type Opened, WebSocket, type WebSocketOptions } from './web-socket.js';
