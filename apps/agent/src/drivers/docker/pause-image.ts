import { Header } from 'tar';

/** The name of the image that the agent makes for pause containers. A change of the program needs another tag. */
export const PAUSE_IMAGE = 'waybill-pause:1';
const PROGRAM = 'pause';
/** The settings with which the engine makes an image from a file system. */
export const PAUSE_CHANGES = [`ENTRYPOINT ["/${PROGRAM}"]`, 'USER 65535:65535'];

const TAR_BLOCK_BYTES = 512;
/** The address of the program in memory. Its code follows the headers, because the file is mapped as a whole. */
const BASE = 0x40_00_00n;
const FILE_HEADER_BYTES = 64;
const SEGMENT_HEADER_BYTES = 56;
const ELF_IDENT = '7f454c46020101';
const EXECUTABLE = 2;
const LOADED = 1;
const READ_AND_EXECUTE = 5;
const PAGE_BYTES = 0x1_00_00n;

interface Machine {
  /** The machine's number in ELF. */
  readonly elf: number;
  /** Instructions, in hexadecimal. */
  readonly code: string;
}

/**
 * The programs: a loop around a system call that waits for a signal. The call is `pause` if the machine has it, else
 * `ppoll` without files.
 */
const MACHINES: Readonly<Record<string, Machine>> = {
  // mov eax, 34; syscall; jmp to the first
  x64: { elf: 62, code: 'b8220000000f05ebf7' },
  // mov x0..x4, #0; mov x8, #73; svc #0; b to the first
  arm64: { elf: 183, code: '000080d2010080d2020080d2030080d2040080d2280980d2010000d4f9ffff17' },
};

/**
 * Returns a program that waits until it is killed, which is all that a pause container has to do. It is a static ELF
 * file of about 130 bytes. The image therefore needs neither a registry nor a compiler.
 * @param arch the architecture, as in `process.arch`
 * @returns undefined if there is no program for this architecture
 */
export function pauseProgram(arch: string): Buffer | undefined {
  const machine = MACHINES[arch];
  if (!machine) return undefined;
  const code = Buffer.from(machine.code, 'hex');
  const headerBytes = FILE_HEADER_BYTES + SEGMENT_HEADER_BYTES;
  const bytes = BigInt(headerBytes + code.byteLength);
  const file = Buffer.alloc(headerBytes);
  file.write(ELF_IDENT, 'hex');
  file.writeUInt16LE(EXECUTABLE, 16);
  file.writeUInt16LE(machine.elf, 18);
  file.writeUInt32LE(1, 20); // version
  file.writeBigUInt64LE(BASE + BigInt(headerBytes), 24); // address of the first instruction
  file.writeBigUInt64LE(BigInt(FILE_HEADER_BYTES), 32); // offset of the segment headers
  file.writeUInt16LE(FILE_HEADER_BYTES, 52);
  file.writeUInt16LE(SEGMENT_HEADER_BYTES, 54);
  file.writeUInt16LE(1, 56); // one segment
  file.writeUInt32LE(LOADED, 64);
  file.writeUInt32LE(READ_AND_EXECUTE, 68);
  for (const at of [80, 88]) file.writeBigUInt64LE(BASE, at);
  for (const at of [96, 104]) file.writeBigUInt64LE(bytes, at);
  file.writeBigUInt64LE(PAGE_BYTES, 112);
  return Buffer.concat([file, code]);
}

/** Returns the file system of the image as a tar archive. The bytes are the same at every call. */
export function pauseFileSystem(program: Buffer): Buffer {
  const header = Buffer.alloc(TAR_BLOCK_BYTES);
  const named = { path: PROGRAM, mode: 0o755, uid: 0, gid: 0, size: program.byteLength, type: 'File' as const };
  new Header({ ...named, mtime: new Date(0) }).encode(header, 0);
  const padding = (TAR_BLOCK_BYTES - (program.byteLength % TAR_BLOCK_BYTES)) % TAR_BLOCK_BYTES;
  const end = 2 * TAR_BLOCK_BYTES;
  return Buffer.concat([header, program, Buffer.alloc(padding + end)]);
}
