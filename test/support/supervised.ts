import { closeSync, constants, existsSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './until.ts'

// The supervisor runs in the background and reads from a named pipe, the lifeline, which the test process keeps open
// for writing. When the test process ends for any reason (Ctrl-C, crash, kill -9), the read ends, and the supervisor
// stops the server and removes its folder. After the word "keep" on the lifeline it only stops the server.
//
// The launching shell exits, so that the supervisor is not a child of `bun test`: that kills all its children when a
// test times out, and one slow test would stop the database of all others.
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

/** A server that ends when the process that started it ends. */
export interface Supervised {
  hasEnded(): boolean
  /** Stops the server at once (SIGQUIT), and removes its folder unless `keepFolder` is set. */
  end(options?: { keepFolder: boolean }): Promise<void>
}

interface Surroundings {
  folder: string
  env: Record<string, string>
  logFile: string
  uid?: number
  gid?: number
}

/** Starts `command` in `folder` under a supervisor, which is a shell script. */
export async function startSupervised(command: string[], surroundings: Surroundings): Promise<Supervised> {
  const { folder, env, logFile, ...owner } = surroundings
  const lifeline = join(folder, `lifeline-${++launches}`)
  const shell = Bun.spawn(['/bin/sh', '-c', launch, 'supervisor', ...command], {
    cwd: folder,
    env: { ...env, FOLDER: folder, LIFELINE: lifeline },
    // The server gets its own process group, so that Ctrl-C in the terminal reaches the tests only.
    detached: true,
    stdin: 'ignore',
    stdout: Bun.file(logFile),
    stderr: Bun.file(logFile),
    ...owner,
  })
  if ((await shell.exited) !== 0) throw new Error(`mkfifo could not make the pipe ${lifeline}`)
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

/**
 * Opens the pipe with O_NONBLOCK: a blocking open would suspend this process for good if the supervisor failed to
 * start.
 */
async function openForWriting(pipe: string): Promise<number> {
  const open = () => openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK)
  return await until('the supervisor reads its pipe', open, 30_000)
}
