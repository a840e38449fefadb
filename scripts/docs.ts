// Writes the documents that are generated from the code: `bun run docs`.
import { join } from 'node:path'
import { SETTINGS } from '../src/config.ts'

const root = join(import.meta.dir, '..')

/** The page whose help texts are generated. */
export const COMMANDS_PAGE = 'docs/operate/commands.md'

/** A command or a group of commands: [] for axport itself, ["integration", "create"] for a command in a group. */
interface ShownCommand {
  path: string[]
  /** The output of --help on a terminal with 80 columns. */
  help: string
}

/**
 * The documents that are generated, wholly or in part, by their paths in the project.
 * @param commands every command and group, in the order of the help texts
 * @param commandsPage the text of docs/operate/commands.md, of which only the help texts are generated
 */
export function generatedDocuments(commands: ShownCommand[], commandsPage: string): Record<string, string> {
  return { [COMMANDS_PAGE]: withHelp(commandsPage, commands), 'docs/operate/settings.md': settingsPage() }
}

/** The page with a section for each command: its help, and what the page has after the help. */
function withHelp(page: string, commands: ShownCommand[]): string {
  const [beginning = '', ...sections] = page.split(/^## (?=axport\b)/m)
  const kept = new Map(
    sections.map(section => {
      const [, heading = '', rest = ''] = /^(.*)\n\n```\n[\s\S]*?\n```\n([\s\S]*)$/.exec(section) ?? []
      return [heading, rest.trim()]
    }),
  )
  const written = commands.map(({ path, help }) => {
    const heading = ['axport', ...path].join(' ')
    const parts = [`## ${heading}`, `\`\`\`\n${help.trimEnd()}\n\`\`\``, kept.get(heading)]
    kept.delete(heading)
    return parts.filter(Boolean).join('\n\n')
  })
  if (kept.size > 0)
    throw new Error(`${COMMANDS_PAGE} has sections of no command: ${[...kept.keys()].join(', ')}`)
  return `${beginning}${written.join('\n\n')}\n`
}

function settingsPage(): string {
  const lines = Object.entries(SETTINGS).map(([name, setting]) => {
    const fallback = 'fallback' in setting ? `default \`${setting.fallback}\`` : 'no default'
    return `- **\`${name}\`**, ${fallback}.\n  ${setting.meaning}\n`
  })
  return `# Settings

<!-- made by \`bun run docs\` from src/config.ts -->

Settings come from the environment only; a \`.env\` file is not read. \`axport config\` prints the value of each one and
where it comes from; secrets are masked. [database.md](database.md) has the parts of \`DATABASE_URL\`,
[limits.md](limits.md) what happens at each limit.

- **To check them:** \`axport config\` fails if a setting is invalid. \`axport serve --check\` also connects as \`serve\`
  does, and serves nothing: run it before a restart.
- **The settings of a unit** are not those of your shell. These commands take them from the running service; the second
  one lets the file that you have edited win:

  \`\`\`
  pid=$(systemctl show --property MainPID --value axport-serve@0)
  xargs -0 -a /proc/$pid/environ sh -c 'exec env -i "$@" axport doctor' sh
  xargs -0 -a /proc/$pid/environ sh -c 'exec env -i "$@" sh -c "set -a
    . /etc/axport/serve.env; exec axport serve --check"' sh
  \`\`\`

- **A value of the form \`tcp://…\`**, which Kubernetes sets as \`ADMIN_PORT\` for a service called admin, counts as not
  set.
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

if (import.meta.main) {
  const page = await Bun.file(join(root, COMMANDS_PAGE)).text()
  for (const [path, text] of Object.entries(generatedDocuments(await helpOf([]), page)))
    await Bun.write(join(root, path), text)
}
