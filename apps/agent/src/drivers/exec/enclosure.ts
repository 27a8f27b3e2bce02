import { BEGIN, TROUBLE_FILE } from '../supervised/supervisor.js';

/**
 * This program makes the root of a task, and then becomes the task in that root.
 *
 * It runs in its own mount namespace. The machine sees none of its mounts, and they end with the last process in it, so
 * no mount is left however the task ends. Arguments: the run's directory; the task's directory; `own` or `host` for its
 * processes and for its shared memory; who places the process (see BEGIN); the paths inside of `mount` and `umount`;
 * its host name or `-`. Then follow mounts up to `--`, each as five words: the kind of bind, the propagation, the
 * options, the source, the destination. Then follows the command. Until it changes the root, it uses the machine's
 * programs, then those inside. The task cannot replace these, because their directories are mounted read-only. Messages
 * go to the run's `trouble` file.
 *
 * - It builds the root on a private file system over /sys, because the machine would see a mount over anything that it
 *   propagates. Nothing else is made private, so that shared mounts still reach the machine.
 * - Its working directory stays in the machine's /proc. There it reads its process id outside of its namespace.
 * - With its own process namespace it stays as the first process. It waits for the task and adopts orphans, and its end
 *   ends all other processes. It runs the task in the foreground because of signals (see supervisor.ts).
 */
const ENCLOSURE = `${BEGIN}
run=$1; task=$2; processes=$3; memory=$4; place=$5; mount=$6; umount=$7; hostname=$8; shift 8
exec 8>&2 2>"$run/${TROUBLE_FILE}"
ready() { exec 2>&8 8>&-; }
PATH=/usr/sbin:/usr/bin:/sbin:/bin
set -e
cd /proc
[ "$hostname" = - ] || echo "$hostname" > sys/kernel/hostname
root=/sys/root
mount --make-private /sys
mount -t tmpfs -o mode=755,size=64k waybill /sys
mkdir $root
mount --bind "$task" $root
mount --make-private $root
mount -o remount,bind,nosuid,nodev $root
mkdir -p $root/proc $root/dev
if [ "$processes" = own ]; then
  mount -t proc -o nosuid,nodev,noexec proc $root/proc
  for path in bus fs irq sys sysrq-trigger; do
    [ -e $root/proc/$path ] || continue
    mount --bind $root/proc/$path $root/proc/$path
    mount -o remount,bind,ro,nosuid,nodev,noexec $root/proc/$path
  done
  for path in kcore keys timer_list; do [ ! -e $root/proc/$path ] || mount --bind /dev/null $root/proc/$path; done
else
  mount --bind . $root/proc
  mount --make-private $root/proc
  mount -o remount,bind,ro,nosuid,nodev,noexec $root/proc
fi
mount -t tmpfs -o mode=755,size=64k,nosuid,noexec dev $root/dev
for path in null zero full random urandom tty; do : > $root/dev/$path; mount --bind /dev/$path $root/dev/$path; done
mkdir $root/dev/pts $root/dev/shm
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,nosuid,noexec devpts $root/dev/pts
if [ "$memory" = own ]; then mount -t tmpfs -o mode=1777,size=64m,nosuid,nodev,noexec shm $root/dev/shm
else mount --bind /dev/shm $root/dev/shm; fi
ln -s pts/ptmx $root/dev/ptmx; ln -s /proc/self/fd $root/dev/fd
for path in 0:stdin 1:stdout 2:stderr; do ln -s /proc/self/fd/\${path%:*} $root/dev/\${path#*:}; done
while [ "$1" != -- ]; do
  mount --$1 "$4" "$root$5"
  mount --make-$2 "$root$5"
  mount -o "remount,bind,$3" "$root$5"
  shift 5
done
shift
mount -t tmpfs -o mode=700,size=4k,nosuid,nodev,noexec private $root/private
mkdir $root/private/machine
pivot_root $root $root/private/machine
"$mount" --make-rslave /private/machine
"$umount" -l /private/machine
set +e
task() { begin . / "$place" "$@"; }
if [ "$processes" = own ]; then
  ( task "$@" )
  exit $?
fi
task "$@"
`;

/** EnclosureMount is a file, directory or device of the machine in the root of a task. */
export interface EnclosureMount {
  /** The kind of bind; `rbind` includes the mounts below the source. */
  readonly how: 'bind' | 'rbind';
  readonly propagation: 'private' | 'rprivate' | 'rslave' | 'rshared';
  /** The options of `mount`, separated by commas. */
  readonly options: string;
  readonly source: string;
  /** The path in the root, which exists already. */
  readonly destination: string;
}

export interface Enclosure {
  readonly runDir: string;
  readonly taskDir: string;
  readonly pidMode: 'private' | 'host';
  readonly ipcMode: 'private' | 'host';
  /** Whether the task has no network at all (AG-296). */
  readonly isOffline: boolean;
  /** The host name; empty means that of the machine. */
  readonly hostname: string;
  /** The mounts, outer ones first. */
  readonly mounts: readonly EnclosureMount[];
  /** Whether the agent places the process before it becomes the task. */
  readonly placed: boolean;
  readonly tools: { readonly unshare: string; readonly mountInside: string; readonly umountInside: string };
}

/** Returns a command line that runs a command in a root of its own (AG-280). The command is a path inside that root. */
export function enclosedCommand(enclosure: Enclosure, command: readonly string[]): [string, ...string[]] {
  const { tools, pidMode, ipcMode, isOffline, mounts } = enclosure;
  return [
    tools.unshare,
    '--mount',
    '--propagation=unchanged',
    '--uts',
    ...(isOffline ? ['--net'] : []),
    ...(ipcMode === 'private' ? ['--ipc'] : []),
    ...(pidMode === 'private' ? ['--pid', '--fork', '--kill-child'] : []),
    '/bin/sh',
    '-c',
    ENCLOSURE,
    'waybill-enclosure',
    enclosure.runDir,
    enclosure.taskDir,
    ownOr(pidMode),
    ownOr(ipcMode),
    enclosure.placed ? 'place' : '-',
    tools.mountInside,
    tools.umountInside,
    enclosure.hostname || '-',
    ...mounts.flatMap((mount) => [mount.how, mount.propagation, mount.options, mount.source, mount.destination]),
    '--',
    ...command,
  ];
}

const ownOr = (mode: 'private' | 'host'): string => (mode === 'private' ? 'own' : 'host');
