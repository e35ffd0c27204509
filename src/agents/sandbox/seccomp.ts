/**
 * The system call filter of the sandbox, as a classic BPF program (`struct sock_filter[]`). Namespaces and missing
 * capabilities already deny most of these calls; the filter closes kernel interfaces that namespaces do not cover
 * (AF_VSOCK, keyrings, TIOCSTI) or that have a history of privilege escalation (bpf, io_uring, userfaultfd), and
 * memory that no limit counts (memfd, large System V segments).
 */
export function seccompFilter(arch: string = process.arch): Buffer | undefined {
  const numbers = numbersOf[arch];
  if (!numbers) return undefined;
  const { audit, denied, missing, rules } = numbers;
  return encode([
    load(offset.arch),
    [jumpIfEqual, 1, 0, audit],
    answer(errno.ENOSYS),
    load(offset.number),
    // On x64 a set bit 30 selects the x32 interface, whose numbers this filter does not know.
    [jumpIfAtLeast, 0, 1, 0x40000000],
    answer(errno.ENOSYS),
    ...denied.flatMap((call) => [when(call, 1), answer(errno.EPERM)]),
    ...missing.flatMap((call) => [when(call, 1), answer(errno.ENOSYS)]),
    ...rules.flatMap(({ call, code, all }) => {
      // Each test that does not hold leads to the last instruction, which prepares the next rule.
      const tests = all.flatMap(({ argument, isUpper, is, value }, i): Instruction[] => {
        const toNext = (all.length - 1 - i) * 2 + 1;
        const [ifTrue, ifFalse] = is === "not" ? [toNext, 0] : [0, toNext];
        return [load(offset.argument(argument) + (isUpper ? 4 : 0)), [jumps[is], ifTrue, ifFalse, value]];
      });
      return [when(call, tests.length + 2), ...tests, answer(code), load(offset.number)];
    }),
    allow,
  ]);
}

type Instruction = [code: number, ifTrue: number, ifFalse: number, value: number];

/** BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_JMP|JGE|K, BPF_RET|K */
const [loadWord, jumpIfEqual, jumpIfAtLeast, give] = [0x20, 0x15, 0x35, 0x06] as const;
/** BPF_JMP with JEQ, JEQ inverted, JGT and JSET */
const jumps = { equal: 0x15, not: 0x15, above: 0x25, hasBit: 0x45 } as const;

/** Of `struct seccomp_data`, on little-endian machines. */
const offset = { number: 0, arch: 4, argument: (n: number) => 16 + 8 * n };
const errno = { EPERM: 1, ENOMEM: 12, ENOSYS: 38, EAFNOSUPPORT: 97 };

const load = (from: number): Instruction => [loadWord, 0, 0, from];
const answer = (code: number): Instruction => [give, 0, 0, 0x00050000 | code];
const allow: Instruction = [give, 0, 0, 0x7fff0000];
const when = (call: number, length: number): Instruction => [jumpIfEqual, 0, length, call];

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

/** Answers a call with an error if all tests of its arguments hold. */
type Rule = { call: number; code: number; all: Test[] };
/** Of the lower 32 bits of an argument, or the upper ones. */
type Test = { argument: number; isUpper?: true; is: keyof typeof jumps; value: number };

/** Bytes put into a terminal's input would be typed by its owner. */
const ioctlRules = (call: number): Rule[] =>
  [0x5412, 0x541c].map((value) => ({ call, code: errno.EPERM, all: [{ argument: 1, is: "equal", value }] }));

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: confined by the network namespace, or to the files of the sandbox. */
const socketRule = (call: number): Rule => ({
  call,
  code: errno.EAFNOSUPPORT,
  all: [1, 2, 10, 16].map((value) => ({ argument: 0, is: "not", value })),
});

/** Up to 1 MiB, as PostgreSQL needs one. */
const segmentRules = (call: number): Rule[] => [
  { call, code: errno.ENOMEM, all: [{ argument: 1, is: "above", value: 1024 * 1024 }] },
  { call, code: errno.ENOMEM, all: [{ argument: 1, isUpper: true, is: "not", value: 0 }] },
];

/** A set-user-ID file of root in the agent's folder would be one on the machine too. */
const modeRule = (call: number, argument: number, flags?: number): Rule => ({
  call,
  code: errno.EPERM,
  all: [
    ...(flags === undefined ? [] : [{ argument: flags, is: "hasBit" as const, value: 0o100 }]),
    { argument, is: "hasBit", value: 0o6000 },
  ],
});

type Numbers = {
  audit: number;
  /** Answered with EPERM. */
  denied: number[];
  /** Answered with ENOSYS, so that programs use their fallback. */
  missing: number[];
  rules: Rule[];
};

/** The same on every architecture: open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr. */
const newMounts = [428, 429, 430, 431, 432, 433, 442];
/** io_uring_setup, io_uring_enter, io_uring_register, openat2 (its mode cannot be tested), memfd_secret. */
const newMissing = [425, 426, 427, 437, 447];
const fchmodat2 = 452;

const numbersOf: Record<string, Numbers> = {
  x64: {
    audit: 0xc000003e,
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
    rules: [
      ...ioctlRules(16),
      socketRule(41),
      ...segmentRules(29),
      ...[modeRule(90, 1), modeRule(91, 1), modeRule(268, 2), modeRule(fchmodat2, 2)], // chmod, fchmod, fchmodat
      ...[modeRule(2, 2, 1), modeRule(85, 1), modeRule(257, 3, 2)], // open, creat, openat
      ...[modeRule(133, 1), modeRule(259, 2)], // mknod, mknodat
    ],
  },
  arm64: {
    audit: 0xc00000b7,
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
    rules: [
      ...ioctlRules(29),
      socketRule(198),
      ...segmentRules(194),
      ...[modeRule(52, 1), modeRule(53, 2), modeRule(fchmodat2, 2)],
      modeRule(56, 3, 2),
      modeRule(33, 2),
    ],
  },
};
