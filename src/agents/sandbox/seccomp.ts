/**
 * The system call filter of the sandbox, as a classic BPF program (`struct sock_filter[]`). Namespaces and missing
 * capabilities already deny most of these calls; the filter closes kernel interfaces that namespaces do not cover
 * (AF_VSOCK, keyrings, TIOCSTI) or that have a history of privilege escalation (bpf, io_uring, userfaultfd), and
 * memory that no limit counts (memfd, large System V segments).
 */
export function seccompFilter(arch: string = process.arch): Buffer | undefined {
  const numbers = numbersOf[arch];
  if (!numbers) return undefined;
  const { audit, ioctl, socket, shmget, denied, missing } = numbers;
  const program: Instruction[] = [
    load(offset.arch),
    [jumpIfEqual, 1, 0, audit],
    answer(errno.ENOSYS),
    load(offset.number),
    // On x64 a set bit 30 selects the x32 interface, whose numbers this filter does not know.
    [jumpIfAtLeast, 0, 1, 0x40000000],
    answer(errno.ENOSYS),
    ...denied.flatMap((call) => [...when(call), answer(errno.EPERM)]),
    ...missing.flatMap((call) => [...when(call), answer(errno.ENOSYS)]),
    // Bytes put into a terminal's input would be typed by its owner.
    [jumpIfEqual, 0, 5, ioctl],
    load(offset.argument(1)),
    [jumpIfEqual, 1, 0, ioctls.TIOCSTI],
    [jumpIfEqual, 0, 1, ioctls.TIOCLINUX],
    answer(errno.EPERM),
    allow,
    [jumpIfEqual, 0, families.length + 3, socket],
    load(offset.argument(0)),
    ...families.map((family, i): Instruction => [jumpIfEqual, families.length - i, 0, family]),
    answer(errno.EAFNOSUPPORT),
    allow,
    [jumpIfEqual, 0, 5, shmget],
    load(offset.argument(1) + 4),
    [jumpIfEqual, 0, 2, 0],
    load(offset.argument(1)),
    [jumpIfGreater, 0, 1, largestSegment],
    answer(errno.ENOMEM),
    allow,
  ];
  return encode(program);
}

type Instruction = [code: number, ifTrue: number, ifFalse: number, value: number];

/** BPF_LD|W|ABS, BPF_JMP|JEQ|K, JGE, JGT, BPF_RET|K */
const [loadWord, jumpIfEqual, jumpIfAtLeast, jumpIfGreater, give] = [0x20, 0x15, 0x35, 0x25, 0x06] as const;

/** Of `struct seccomp_data`, on little-endian machines. */
const offset = { number: 0, arch: 4, argument: (n: number) => 16 + 8 * n };
const errno = { EPERM: 1, ENOMEM: 12, ENOSYS: 38, EAFNOSUPPORT: 97 };
const ioctls = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c };
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: confined by the network namespace, or to the files of the sandbox. */
const families = [1, 2, 10, 16];
const largestSegment = 1024 * 1024;

const load = (from: number): Instruction => [loadWord, 0, 0, from];
const answer = (code: number): Instruction => [give, 0, 0, 0x00050000 | code];
const allow: Instruction = [give, 0, 0, 0x7fff0000];
const when = (call: number): Instruction[] => [[jumpIfEqual, 0, 1, call]];

function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [i, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, i * 8);
    bytes.writeUInt8(ifTrue, i * 8 + 2);
    bytes.writeUInt8(ifFalse, i * 8 + 3);
    bytes.writeUInt32LE(value >>> 0, i * 8 + 4);
  }
  return bytes;
}

type Numbers = {
  audit: number;
  ioctl: number;
  socket: number;
  shmget: number;
  /** Answered with EPERM. */
  denied: number[];
  /** Answered with ENOSYS, so that programs use their fallback. */
  missing: number[];
};

/** The same on every architecture: move_mount, open_tree, fsopen, fsconfig, fsmount, fspick, mount_setattr. */
const newMounts = [428, 429, 430, 431, 432, 433, 442];
/** io_uring_setup, io_uring_enter, io_uring_register, memfd_secret. */
const newMissing = [425, 426, 427, 447];

const numbersOf: Record<string, Numbers> = {
  x64: {
    audit: 0xc000003e,
    ioctl: 16,
    socket: 41,
    shmget: 29,
    denied: [
      ...[155, 165, 166], // pivot_root, mount, umount2
      ...[272, 308], // unshare, setns
      ...[248, 249, 250], // add_key, request_key, keyctl
      ...[298, 321, 323], // perf_event_open, bpf, userfaultfd
      ...[175, 176, 313, 246, 320], // init_module, delete_module, finit_module, kexec_load, kexec_file_load
      ...[163, 167, 168, 169, 179, 103], // acct, swapon, swapoff, reboot, quotactl, syslog
      ...[303, 304], // name_to_handle_at, open_by_handle_at
      ...newMounts,
    ],
    missing: [319, ...newMissing], // memfd_create
  },
  arm64: {
    audit: 0xc00000b7,
    ioctl: 29,
    socket: 198,
    shmget: 194,
    denied: [
      ...[41, 40, 39],
      ...[97, 268],
      ...[217, 218, 219],
      ...[241, 280, 282],
      ...[105, 106, 273, 104, 294],
      ...[89, 224, 225, 142, 60, 116],
      ...[264, 265],
      ...newMounts,
    ],
    missing: [279, ...newMissing],
  },
};
