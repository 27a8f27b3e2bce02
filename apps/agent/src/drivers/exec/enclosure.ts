import { BEGIN, TROUBLE_FILE } from '../supervised/supervisor.js';

/**
 * Makes the root of a task, and becomes the task in it.
 *
 * It runs in a mount namespace of its own, of which the machine sees nothing and which ends with its last process: however
 * the task ends, no mount is left. Arguments: the run's directory, the task's directory, `own` or
 * `host` for its processes and its shared memory, who places it (see BEGIN), where `mount`, `umount` are inside, its host
 * name or `-`; then mounts up to `--`, each as five words: how it is bound, how mounts are passed on, its options, from
 * where, to where; then the command. Up to the change of root it uses the machine's programs, then those inside, none that the task could have
 * put there: they are below directories that are mounted read-only. What it says goes to the run's `trouble` file.
 *
 * - The root is put together on a private file system over /sys, because a mount over anything that the machine passes on
 *   would be seen there; nothing else is made private, so that what is to be shared with the machine still is.
 * - Its working directory stays in the machine's /proc: there it reads who it is outside of its namespace.
 * - With processes of its own it stays as the first of them, waits for the task and takes in what it orphans; its end ends
 *   all others. It runs the task in the foreground, for the signals' sake (see supervisor.ts).
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

/** A directory, file or device of the machine in the root of a task. */
export interface EnclosureMount {
  /** `rbind`: with what is mounted below it. */
  readonly how: 'bind' | 'rbind';
  readonly propagation: 'private' | 'rprivate' | 'rslave' | 'rshared';
  /** Of `mount`, with commas between. */
  readonly options: string;
  readonly source: string;
  /** It is there already. */
  readonly destination: string;
}

export interface Enclosure {
  readonly runDir: string;
  readonly taskDir: string;
  readonly pidMode: 'private' | 'host';
  readonly ipcMode: 'private' | 'host';
  /** It reaches nothing and nobody (AG-296). */
  readonly isOffline: boolean;
  /** Empty: that of the machine. */
  readonly hostname: string;
  /** Outer ones first. */
  readonly mounts: readonly EnclosureMount[];
  /** The agent places the process before it becomes the task. */
  readonly placed: boolean;
  readonly tools: { readonly unshare: string; readonly mountInside: string; readonly umountInside: string };
}

/** A command line that runs a command, which is one of its inside, in a root of its own (AG-280). */
export function enclosed(enclosure: Enclosure, command: readonly string[]): [string, ...string[]] {
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
