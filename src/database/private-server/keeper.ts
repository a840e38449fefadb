import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Failure } from '../../errors.ts'
import type { User } from './programs.ts'

// The keeper runs in the background and reads from a named pipe, which this process keeps open for writing. When
// this process ends for any reason (Ctrl-C, a fault, kill -9), the read ends, and the keeper stops the server and
// removes its folder. After the word "keep" in the pipe it only stops the server.
//
// The launching shell ends, so that the keeper is no child of this process: `bun test` kills all its children when a
// test times out, and one slow test would stop the database of all others.
const LAUNCH = `
mkfifo "$PIPE" || exit 1
(
  exec 3<"$PIPE"
  "$@" </dev/null 3<&- &
  server=$!
  (
    read -r word <&3
    [ "$word" = keep ] || : >"$PIPE.remove"
    [ -e "$PIPE.ended" ] || kill -QUIT "$server"
  ) &
  watcher=$!
  wait "$server"
  : >"$PIPE.ended"
  wait "$watcher"
  cd /
  [ -e "$PIPE.remove" ] && rm -rf "$FOLDER"
) &
`

const TIMEOUT_MS = 30_000
const POLL_MS = 10

/** A program that ends when the process that started it ends. */
export interface Kept {
  hasEnded(): boolean
  /** Ends it at once (SIGQUIT), and removes its folder unless `keepFolder` is set. */
  end(options?: { keepFolder: boolean }): Promise<void>
}

let launches = 0

interface Surroundings {
  folder: string
  env: Record<string, string>
  /** The file that gets the output. */
  log: string
  user: User | undefined
}

/** Starts a program in a folder, which is removed when this process ends. */
export async function startKept(command: string[], { folder, env, log, user }: Surroundings): Promise<Kept> {
  const pipe = join(folder, `keeper-${++launches}`)
  const output = Bun.file(log)
  const shell = Bun.spawn(['/bin/sh', '-c', LAUNCH, 'keeper', ...command], {
    cwd: folder,
    env: { ...env, PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC', FOLDER: folder, PIPE: pipe },
    // A process group of its own: Ctrl-C in a terminal reaches this process alone, which then ends the program.
    detached: true,
    stdin: 'ignore',
    stdout: output,
    stderr: output,
    ...user,
  })
  if ((await shell.exited) !== 0) throw new Failure(`no pipe can be made in ${folder}`)
  const hasEnded = () => !existsSync(folder) || existsSync(`${pipe}.ended`)
  let end = await openForWriting(pipe)
  return {
    hasEnded,
    end: async ({ keepFolder } = { keepFolder: false }) => {
      if (end === undefined) return
      if (keepFolder) writeSync(end, 'keep\n')
      closeSync(end)
      end = undefined
      await until(() => (keepFolder ? hasEnded() : !existsSync(folder)))
    },
  }
}

/** Opens the pipe without waiting: if the keeper had failed, a waiting open would hang this process. */
async function openForWriting(pipe: string): Promise<number | undefined> {
  let end: number | undefined
  await until(() => {
    try {
      end = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
      return true
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENXIO') return false
      throw error
    }
  })
  return end
}

/** Waits for a condition. @throws Failure after half a minute */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now()
  while (!(await isTrue())) {
    if (performance.now() - start > TIMEOUT_MS)
      throw new Failure(`a temporary Postgres does not answer for ${TIMEOUT_MS / 1000} seconds`)
    await Bun.sleep(POLL_MS)
  }
}
