// Writes the documents that are generated from the code: `bun run docs`.
import { join } from 'node:path'
import { SETTINGS } from '../src/config.ts'

const root = join(import.meta.dir, '..')

/** A command or a group of commands: [] for axport itself, ["integration", "create"] for a command in a group. */
export interface ShownCommand {
  path: string[]
  /** The output of --help on a terminal with 80 columns. */
  help: string
}

/**
 * The generated documents, by their paths in the project.
 * @param commands every command and group, in the order of the help texts
 */
export function generatedDocuments(commands: ShownCommand[]): Record<string, string> {
  return { 'docs/operate/commands.md': commandsPage(commands), 'docs/operate/settings.md': settingsPage() }
}

function commandsPage(commands: ShownCommand[]): string {
  const sections = commands.map(
    ({ path, help }) => `## ${['axport', ...path].join(' ')}\n\n\`\`\`\n${help.trimEnd()}\n\`\`\`\n`,
  )
  return `# Commands

<!-- made by \`bun run docs\` from the --help of each command -->

- \`ID\` is the client id of an integration.
- Errors are one line on standard error that says what is wrong and what to do.
- In tables and lists for people, control characters in names are shown as escapes (\`\\u{1b}\`); \`--json\` has them as
  they are.

Exit codes:

- 0: done
- 1: failed
- 2: called wrongly
- 3: the answer to COMMIT was lost, and it is not known whether the change was made. Standard error names the command
  that shows it, and \`--json\` has \`"outcome": "unknown"\`. A secret that is printed works only if the change was made.
- 4: the change is made, and no standby of \`synchronous_standby_names\` has confirmed it; \`--json\` has \`"outcome":
  "unconfirmed"\`. Wait until the standbys are back. Do not repeat \`integration create\` and \`rotate\`: that makes another
  integration, or ends the secret that was printed.
- 75: a part of the work remains.
  - \`pull\` has kept the pages that it read: run the same command again.
  - \`integration disable\`, \`enable\`, \`scope\`, \`rotate\`, \`delete\`, \`erase\` and \`migrate\` have made the change, and a
    standby has not replayed it yet: wait, and do not run the command again.
  - \`import\`, \`restore\` and \`refresh\` have committed the data, and VACUUM failed: the line has the statement to run.
- 130: interrupted

${sections.join('\n')}`
}

function settingsPage(): string {
  const lines = Object.entries(SETTINGS).map(([name, setting]) => {
    const names =
      'preferred' in setting ? `**\`${setting.preferred}\`** or **\`${name}\`**` : `**\`${name}\`**`
    const fallback = 'fallback' in setting ? `default \`${setting.fallback}\`` : 'no default'
    return `- ${names}, ${fallback}.\n  ${setting.meaning}\n`
  })
  return `# Settings

<!-- made by \`bun run docs\` from src/config.ts -->

Settings come from the environment only; a \`.env\` file is not read. \`axport config\` prints the value of each one and
where it comes from; secrets are masked. [database.md](database.md) has the parts of \`DATABASE_URL\`,
[limits.md](limits.md) what happens at each limit.

- **To check them:** \`axport config\` and \`axport doctor\` fail if a setting is invalid. \`axport serve --check\` also
  connects as \`serve\` does, and serves nothing: run it before a restart.
- **The settings of a unit** are not those of your shell. \`--env-file\` of \`config\`, \`doctor\` and \`serve --check\`
  reads the environment of a process, or a file of systemd's \`EnvironmentFile\`, in place of your shell's. The file of a
  unit alone lacks what its \`Environment\` lines set. So name the running service first, and then the file that you
  have edited:

  \`\`\`
  running=/proc/$(systemctl show --property MainPID --value axport-serve@0)/environ
  axport doctor --env-file $running
  axport serve --check --env-file $running --env-file /etc/axport/serve.env
  \`\`\`

- **\`AXPORT_HOST\`, \`AXPORT_PORT\` and \`AXPORT_DOCS\`** win over \`HOST\`, \`PORT\` and \`DOCS\`, which other programs set,
  too: tcsh exports \`HOST\`.
- **\`PGHOST\`, \`PGPASSWORD\` and other variables of libpq** are ignored, with a warning.

## All settings

${lines.join('')}`
}

/** A command and all commands below it, from their help texts. */
async function helpOf(path: string[]): Promise<ShownCommand[]> {
  const command = [process.execPath, '--no-env-file', join(root, 'src', 'main.ts'), ...path, '--help']
  const run = Bun.spawn(command, { env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' })
  const help = await new Response(run.stdout).text()
  if ((await run.exited) !== 0) throw new Error(`axport ${path.join(' ')} has no --help`)
  const [, listed = ''] = /^Commands:\n((?: {2}.*\n)+)/m.exec(help) ?? []
  const names = [...listed.matchAll(/^ {2}([\w-]+)/gm)].map(([, name]) => name as string)
  const below = await Promise.all(names.map(name => helpOf([...path, name])))
  return [{ path, help }, ...below.flat()]
}

if (import.meta.main)
  for (const [path, text] of Object.entries(generatedDocuments(await helpOf([]))))
    await Bun.write(join(root, path), text)
