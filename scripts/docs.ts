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
    const fallback = 'fallback' in setting ? ` (\`${setting.fallback}\`)` : ''
    return `- **\`${name}\`**${fallback}:\n  ${setting.meaning}\n`
  })
  return `# Settings

<!-- made by \`bun run docs\` from src/config.ts -->

All settings, for operators. They come from the environment; a \`.env\` file is not read.

[Up: operate](README.md)

The units of [install.md](install.md) read them from \`/etc/axport/serve.env\` when they start. Before a restart, as root,
check that file:

\`\`\`sh
(set -a; . /etc/axport/serve.env; DATABASE_URL_FILE=/etc/axport/serve-url axport serve --check)
\`\`\`

While an instance runs, this prints its settings, with secrets masked:

\`\`\`sh
pid=$(systemctl show -P MainPID axport-serve@0)
xargs -0 -a /proc/$pid/environ sh -c 'exec env -i "$@" axport config' sh
\`\`\`

- To set a URL and its \`…_FILE\` is an error.
- A blank value counts as not set, and so does \`tcp://…\`, which Kubernetes sets for a service called admin.
- Variables of libpq, as \`PGHOST\`, are ignored, with a warning.

## All settings

The default is in parentheses.

${lines.join('')}
Next: [database.md](database.md), for what a URL may have.
`
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
