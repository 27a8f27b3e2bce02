/** gRPC's status codes, by a part of the library that does not load the rest of it. */
export { Status as status } from '@grpc/grpc-js/build/src/constants.js';
