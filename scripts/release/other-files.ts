import { join } from 'node:path'

const root = join(import.meta.dir, '..', '..')

const ENTITIES = ['organizations', 'products', 'users', 'assessments', 'assessment_parts']

const UNITS = [
  'axport-.service.d/axport.conf',
  'axport-serve@.service',
  ...['certificate', 'feed-url'].flatMap(name => [`axport-${name}.path`, `axport-${name}.service`]),
  ...['feed', 'sync', 'import', 'backup'].map(name => `axport-${name}.service`),
  ...['sync', 'import', 'backup'].map(name => `axport-${name}.timer`),
]

/** The files of a release besides the executables: paths in the archive with paths in the sources. */
const FILES: Record<string, string> = {
  'CHANGELOG.md': 'CHANGELOG.md',
  ...fromOperate(
    'nginx.conf',
    'haproxy.cfg',
    'Caddyfile',
    'alerts.yml',
    'grafana.json',
    'prometheus.yml',
    'compose.yaml',
    'kubernetes.yaml',
  ),
  ...fromOperate(...UNITS.map(name => `systemd/${name}`)),
  ...fromOperate(
    ...['schema.sql', 'data.sql', 'ndjson.sql', 'csv.sh', 'outbox.sql', 'outbox.sh'].map(
      name => `platform-example/${name}`,
    ),
  ),
  ...fromOperate(...ENTITIES.map(name => `platform-example/queries/${name}.sql`)),
}

function fromOperate(...names: string[]): Record<string, string> {
  return Object.fromEntries(names.map(name => [name, join('docs', 'operate', name)]))
}

/** Files of the sources that the documents link to. */
const LINKED = ['Containerfile', 'db/schema.ts', 'test/assessments/statements/*.sql']

/** All documents and what they link to, in the folders of the sources, so that the links between them hold. */
const documents = (): [name: string, path: string][] =>
  ['*.md', '{src,db,test}/README.md', 'docs/**', 'db/{grants,migrations}/*', ...LINKED]
    .flatMap(pattern => [...new Bun.Glob(pattern).scanSync(root)])
    .sort()
    .map(path => [path, path])

/**
 * The tar archive of a release: the systemd units, configurations of proxies, alerts, the example queries, the documents, the grants.
 * @param folder the folder in the archive that contains all files
 * @throws Error that names a missing file
 */
export async function archiveOfFiles(folder: string): Promise<Uint8Array> {
  const contents: Record<string, Uint8Array> = {}
  for (const [name, path] of [...Object.entries(FILES), ...documents()]) {
    const file = Bun.file(join(root, path))
    if (!(await file.exists())) throw new Error(`the file ${path} of a release is missing`)
    contents[`${folder}/${name}`] = await file.bytes()
  }
  return await new Bun.Archive(contents).bytes()
}
