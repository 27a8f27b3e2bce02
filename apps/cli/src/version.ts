/** Version of this program, and the level of the API it follows (CL-911). */
export const VERSION = '0.1.0';
export const API_VERSION = '1.10.0';
