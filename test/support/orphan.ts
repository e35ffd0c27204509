/**
 * Starts a program whose parent is the first process of the machine, as a terminal's is: it descends from no agent,
 * also when an agent runs the tests. Its exit code is the contents of `codeFile` once the streams have closed.
 */
export const orphaned = (command: string[], codeFile: string): [string, string[]] => [
  "bash",
  ["-c", launcher, "orphan", codeFile, ...command],
];

// The middle process ends at once; the program waits until it has another parent.
const launcher = `exec 3<&0
( export middle=$BASHPID
  setsid bash -c 'while [ "$(cut -d" " -f4 "/proc/$$/stat")" = "$middle" ]; do sleep 0.01; done
    unset middle; code=$1; shift; "$@"; echo $? > "$code"' "$0" "$@" <&3 3<&- & )`;
