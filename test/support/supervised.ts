import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'

// Runs in the background and holds the reading end of a named pipe, the lifeline, whose writing end the test
// process keeps open. So it notices the end of that process in whatever way it came (Ctrl-C, crash, kill -9)
// and takes the server and its folder away. The word "keep" on the lifeline ends the server only.
//
// It is nobody's child once the launching shell has exited, because `bun test` kills every process it knows of
// when a test times out: one slow test would take the database away from all others.
const launch = `
mkfifo "$LIFELINE" || exit 1
(
  exec 3<"$LIFELINE"
  "$@" </dev/null 3<&- &
  server=$!
  (
    read -r word <&3
    [ "$word" = keep ] || : >"$LIFELINE.remove"
    [ -e "$LIFELINE.ended" ] || kill -QUIT "$server"
  ) &
  watcher=$!
  wait "$server"
  : >"$LIFELINE.ended"
  wait "$watcher"
  [ -e "$LIFELINE.remove" ] && rm -rf "$FOLDER"
) &
`

let launches = 0

/** A server that cannot outlive the process that started it. */
export interface Supervised {
  hasEnded(): boolean
  /** Ends the server at once (SIGQUIT); also removes the folder unless `keepFolder` is set. */
  end(options?: { keepFolder: boolean }): Promise<void>
}

interface Surroundings {
  folder: string
  env: Record<string, string>
  logFile: string
  uid?: number
  gid?: number
}

/** Starts `command` in `folder` under the supervision of a shell. */
export async function startSupervised(command: string[], surroundings: Surroundings): Promise<Supervised> {
  const { folder, env, logFile, ...owner } = surroundings
  const lifeline = join(folder, `lifeline-${++launches}`)
  const shell = Bun.spawn(['/bin/sh', '-c', launch, 'supervisor', ...command], {
    cwd: folder,
    env: { ...env, FOLDER: folder, LIFELINE: lifeline },
    // A process group of its own: Ctrl-C in the terminal reaches the tests, not the server.
    detached: true,
    stdin: 'ignore',
    stdout: Bun.file(logFile),
    stderr: Bun.file(logFile),
    ...owner,
  })
  if ((await shell.exited) !== 0) throw new Error(`cannot make the pipe ${lifeline}`)
  const pipe = await openForWriting(lifeline)
  const hasEnded = () => !existsSync(folder) || existsSync(`${lifeline}.ended`)
  let isOpen = true
  return {
    hasEnded,
    end: async options => {
      if (!isOpen) return
      isOpen = false
      if (options?.keepFolder) writeSync(pipe, 'keep\n')
      closeSync(pipe)
      const isOver = () => (options?.keepFolder ? hasEnded() : !existsSync(folder))
      await until('the supervisor has ended the server', isOver, 30_000)
    },
  }
}

/** Without waiting in the system call: that would stop this process for good if the reader failed to come. */
async function openForWriting(pipe: string): Promise<number> {
  const open = () => openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
  return await until('the supervisor reads its pipe', open, 30_000)
}
