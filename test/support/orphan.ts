/**
 * Starts a program whose parent is the first process of the machine, as a terminal's is: it descends from no agent,
 * also when an agent runs the tests. What is spawned waits beside it, passes its exit code on, and ends it on SIGTERM.
 */
export const orphaned = (command: string[]): [string, string[]] => ["bash", ["-c", launcher, "orphan", ...command]];

// The process in the middle ends at once; the program waits until it has another parent.
const launcher = `exec 3<&0
state=$(mktemp -d)
trap 'kill -- -"$(cat "$state/pid")"; exit 143' TERM
( export state middle=$BASHPID
  setsid bash -c 'echo $$ > "$state/pid"
    while [ "$(cut -d" " -f4 "/proc/$$/stat")" = "$middle" ]; do sleep 0.01; done
    "$@"; echo $? > "$state/code.part"; mv "$state/code.part" "$state/code"' "$0" "$@" <&3 3<&- & )
exec 3<&- < /dev/null
while [ ! -e "$state/code" ]; do sleep 0.1; done
code=$(cat "$state/code")
rm -r "$state"
exit "$code"`;
