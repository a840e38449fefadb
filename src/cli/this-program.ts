/** The command that started this process: in the executable there is no script to name. */
export function thisProgram(): string[] {
  const isCompiled = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/.test(Bun.main)
  return isCompiled ? [process.execPath] : [process.execPath, '--no-env-file', Bun.main]
}
