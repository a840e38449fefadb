import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..')

const ENTITIES = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']

/** What a release has beside the executables: where it is in the archive, and where in the sources. */
const FILES: Record<string, string> = {
  'CHANGELOG.md': 'CHANGELOG.md',
  ...fromOperate('axport.service', 'nginx.conf', 'haproxy.cfg', 'Caddyfile', 'alerts.yml'),
  ...fromOperate('platform-example/schema.sql', 'platform-example/data.sql'),
  ...fromOperate(...ENTITIES.map(name => `platform-example/queries/${name}.sql`)),
}

function fromOperate(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map(name => [name, join('docs', 'operate', name)]))
}

/** How each shell names the script that completes `axport`. */
const COMPLETIONS = { bash: 'axport.bash', zsh: '_axport', fish: 'axport.fish' }

/**
 * An archive (tar) of what is not executable: the unit for systemd, configurations of proxies, alerts, the example
 * queries, and the completions.
 * @param folder in which all of it is in the archive
 * @throws Error that names a file that is missing
 */
export async function archiveOfFiles(folder: string): Promise<Uint8Array> {
  const contents: Record<string, string> = {}
  for (const [name, path] of Object.entries(FILES)) {
    const file = Bun.file(join(root, path))
    if (!(await file.exists())) throw new Error(`${path} is missing, and a release has it`)
    contents[`${folder}/${name}`] = await file.text()
  }
  for (const [shell, name] of Object.entries(COMPLETIONS))
    contents[`${folder}/completions/${name}`] = await completion(shell)
  return await new Bun.Archive(contents).bytes()
}

async function completion(shell: string): Promise<string> {
  const command = [process.execPath, '--no-env-file', join(root, 'src', 'main.ts'), 'completion', shell]
  const run = Bun.spawn(command, { env: {}, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [script, words] = await Promise.all([
    new Response(run.stdout).text(),
    new Response(run.stderr).text(),
  ])
  if ((await run.exited) !== 0) throw new Error(`no completion for ${shell}: ${words.trim()}`)
  return script
}
