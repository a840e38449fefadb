import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ended, launch } from '../../support/executable.ts'
import { program, type Requirement } from '../../support/requires.ts'
import { until } from '../../support/until.ts'

/** Units that would change the kernel of this machine, wait for devices, or empty /tmp with what it shares. */
const MASKED = [
  ...[
    'sysctl',
    'modules-load',
    'remount-fs',
    'udevd',
    'udev-trigger',
    'binfmt',
    'random-seed',
    'hwdb-update',
  ],
  ...['update-utmp', 'pstore', 'tmpfiles-setup-dev', 'tmpfiles-setup'],
]
  .map(name => `systemd-${name}.service`)
  .concat(['dev-hugepages.mount', 'dev-mqueue.mount', 'sys-kernel-debug.mount', 'sys-kernel-tracing.mount'])
  .concat([
    'sys-kernel-config.mount',
    'sys-fs-fuse-connections.mount',
    'kmod-static-nodes.service',
    'systemd-tmpfiles-clean.timer',
  ])
  .concat(['proc-sys-fs-binfmt_misc.automount'])

/** Makes a root of its own above the files of this machine, which it cannot change, and becomes systemd there. */
const BOOT = `
set -e
mount -t tmpfs tmpfs "$FOLDER"
mkdir "$FOLDER/upper" "$FOLDER/work" "$FOLDER/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$FOLDER/upper,workdir=$FOLDER/work" "$FOLDER/root"
cd "$FOLDER/root"
mount -t proc proc proc
mount --bind proc/sys proc/sys && mount -o remount,bind,ro proc/sys
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs dev
for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
mkdir dev/shm dev/pts dev/mqueue && mount -t tmpfs tmpfs dev/shm && ln -s /proc/self/fd dev/fd
mount -t devpts -o newinstance,ptmxmode=666 devpts dev/pts && ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs run
for shared in $SHARED; do mkdir -p ".$shared"; mount --bind "$shared" ".$shared"; done
: >etc/machine-id
rm -rf etc/systemd/system/*.wants
for unit in $MASKED; do ln -sf /dev/null "etc/systemd/system/$unit"; done
ip link set lo up
mkdir -p .before && pivot_root . .before && umount -l .before
# systemd mounts the credentials of a unit in a namespace of its own, from where they have to come back.
mount --make-rshared /
exec env -i container=test PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \\
  /lib/systemd/systemd --system --unit=basic.target --show-status=0 --log-target=journal
`

/** What it takes to run systemd in namespaces of its own: the program, root, and a cgroup to put it into. */
export const SYSTEMD: Requirement[] = [
  { ...program('systemd'), isHere: existsSync('/lib/systemd/systemd') },
  { name: 'the right to make namespaces and cgroups', isHere: mayBoot() },
]

/** The folder of the second version of cgroups; undefined if there is none. */
function cgroups(): string | undefined {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  return /^\d+ \d+ \S+ \S+ (\S+) .* - cgroup2 /m.exec(mounts)?.[1]
}

function mayBoot(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0 || cgroups() === undefined) return false
  const script = 'mount -t tmpfs tmpfs /mnt && mount -t cgroup2 cgroup2 /mnt'
  return Bun.spawnSync(['unshare', '-m', '-p', '-f', '-C', '-n', 'sh', '-c', script]).exitCode === 0
}

/** A machine with systemd: its own files, processes and network above those of this machine. */
export interface Machine {
  /** Runs a shell script as root, and returns its exit code and output. */
  sh(script: string): ReturnType<typeof ended>
  /** The command that runs a command in the machine. */
  inside(...command: string[]): string[]
  stop(): Promise<void>
}

/** Boots systemd. @param shared folders of this machine that may be on another file system than its root */
export async function bootSystemd(shared: string[] = []): Promise<Machine> {
  const folder = mkdtempSync(join(tmpdir(), 'axport-systemd-'))
  const cgroup = join(cgroups() as string, `axport-${process.pid}-${Date.now()}`)
  mkdirSync(cgroup)
  const namespaces = ['-m', '-p', '-f', '-C', '-u', '-i', '-n', '--propagation', 'private', '--kill-child']
  const enter = `echo $$ >"$CGROUP/cgroup.procs" && exec setpriv --pdeathsig=KILL unshare ${namespaces.join(' ')} sh -c "$BOOT"`
  const env = {
    PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin',
    ...{ FOLDER: folder, CGROUP: cgroup, BOOT, SHARED: shared.join(' '), MASKED: MASKED.join(' ') },
  }
  const outer = launch(['sh', '-c', enter], { env })
  const pid = await until('systemd has a process', async () => {
    if (outer.exitCode() !== undefined) throw new Error(`systemd did not start: ${outer.stderr()}`)
    const children = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim()
    return children === '' ? false : children
  })
  const inside = (...command: string[]) => [
    ...['nsenter', '-t', String(pid), '-m', '-p', '-C', '-u', '-i', '-n', 'env', '-C', '/root'],
    ...command,
  ]
  const sh = (script: string) => {
    const variables = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' }
    return ended(launch(inside('bash', '-e', '-o', 'pipefail', '-c', script), { env: variables }), {
      timeoutMs: 200_000,
    })
  }
  await until(
    'systemd has started',
    async () => {
      const { stdout } = await sh('systemctl is-active basic.target || true')
      return stdout === 'active\n'
    },
    60_000,
  )
  return {
    sh,
    inside,
    async stop() {
      process.kill(Number(pid), 'SIGKILL')
      await outer.finished
      await until('the cgroups are gone', async () => {
        removeCgroups(cgroup)
        return !existsSync(cgroup)
      })
      rmSync(folder, { recursive: true })
    },
  }
}

function removeCgroups(folder: string): void {
  try {
    for (const each of readdirSync(folder, { withFileTypes: true }))
      if (each.isDirectory()) removeCgroups(join(folder, each.name))
    rmdirSync(folder)
  } catch {
    // A process in it is still ending.
  }
}
