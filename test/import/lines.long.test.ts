import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { Failure } from '../../src/errors.ts'
import { type Line, readLines } from '../../src/import/ndjson.ts'
import { MAX_LINE } from '../../src/import/text.ts'
import { holds } from '../support/property.ts'

const IGNORED = { bytes: () => {}, members: () => {} }

const utf8 = (text: string) => new TextEncoder().encode(text)

async function* yielding(chunks: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield chunk
}

async function read(...chunks: Uint8Array[]): Promise<Line[]> {
  const lines: Line[] = []
  const source = { name: 'a.ndjson', chunks: yielding(chunks) }
  for await (const batch of readLines(source, IGNORED)) lines.push(...batch)
  return lines
}

/** The bytes in pieces of `size`. */
function cut(bytes: Uint8Array, size: number): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let start = 0; start < bytes.length; start += size) pieces.push(bytes.slice(start, start + size))
  return pieces
}

/** The lines of a text, by the simplest reading of the format. */
const expected = (text: string) =>
  text
    .replaceAll('\r\n', '\n')
    .replaceAll('\r', '\n')
    .split('\n')
    .map((text, index) => ({ number: index + 1, text }))
    .filter(({ text }) => text.trim() !== '' || text.startsWith('\ufeff'))

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => 'nothing was thrown',
    (error: Error) => (error instanceof Failure ? error.message : error),
  )

const nextTurn = () => new Promise(resolve => setImmediate(resolve))

describe('lines', () => {
  test('are numbered from 1; blank lines are skipped but counted', async () => {
    expect(await read(utf8('a\n\n \t\r\nb\n\nc\n'))).toEqual([
      { number: 1, text: 'a' },
      { number: 4, text: 'b' },
      { number: 6, text: 'c' },
    ])
  })

  test('are the same for every cut into chunks, also empty ones, plain or gzipped', async () => {
    const text = fc
      .array(
        fc.oneof(
          fc.string({ unit: 'binary' }).filter(part => part.isWellFormed()),
          fc.constantFrom('\n', '\r\n', '\r', ' ', 'é', '👩‍🏫'),
        ),
      )
      .map(parts => parts.join(''))
      .filter(text => !/^\ufeff|^.?\0/s.test(text))
    const cuts = fc.array(fc.nat(40), { maxLength: 60 })
    await holds(
      fc.asyncProperty(text, cuts, fc.boolean(), async (text, sizes, isGzipped) => {
        const bytes = isGzipped ? gzipSync(text) : utf8(text)
        const chunks: Uint8Array[] = []
        let start = 0
        for (const size of sizes) {
          chunks.push(bytes.slice(start, start + size))
          start += size
        }
        const lines = await read(...chunks, bytes.slice(start))
        expect(lines).toEqual(expected(text))
      }),
      { runs: 600 },
    )
  })

  test('of an empty input, or of no chunk at all, are none', async () => {
    expect(await read()).toEqual([])
    expect(await read(utf8(''))).toEqual([])
    expect(await read(utf8('\n \n'))).toEqual([])
    expect(await read(utf8('\ufeff'))).toEqual([])
    expect(await read(gzipSync(''))).toEqual([])
  })
})

describe('a byte order mark', () => {
  test.each([1, 2, 3, 4])('at the start is not part of the first line, in chunks of %d bytes', async size => {
    expect(await read(...cut(utf8('\ufeff{"a":1}\nb'), size))).toEqual([
      { number: 1, text: '{"a":1}' },
      { number: 2, text: 'b' },
    ])
  })
})

describe('text that is not UTF-8', () => {
  const NOT =
    'a character is not UTF-8: correct the text of this line; or if the whole file is in another encoding, as Windows-1252, save it as UTF-8'
  const UTF16 = 'the text is UTF-16: save it as UTF-8'
  test.each([
    ['a lone continuation byte', 1, [0x61, 0x81, 0x0a], NOT],
    ['Windows-1252', 1, [0x5a, 0x6f, 0xeb, 0x0a], NOT],
    ['Windows-1252 after CR', 3, [0x61, 0x0d, 0x0d, 0x93, 0x6f, 0x94], NOT],
    ['Windows-1252 after CRLF', 3, [0x61, 0x0d, 0x0a, 0x0d, 0x0a, 0x80], NOT],
    ['UTF-16, low byte first', 1, [0xff, 0xfe, 0x7b, 0x00], UTF16],
    ['UTF-16, high byte first', 1, [0xfe, 0xff, 0x00, 0x7b], UTF16],
    ['UTF-16 without a byte order mark', 1, [0x7b, 0x00, 0x7d, 0x00], UTF16],
    ['UTF-16 without a byte order mark, high byte first', 1, [0x00, 0x7b, 0x00, 0x7d], UTF16],
    [
      'a text that is cut inside a character',
      2,
      [...utf8('{"a":"é"}\n{"a":"Jos'), 0xc3, ...utf8('"}\n')],
      NOT,
    ],
    ['a character that is cut short by a line break', 2, [0x61, 0x0a, 0xe6, 0x9d, 0x0a, 0x61, 0x0a], NOT],
    ['a character that is cut short by the end', 3, [0x0a, 0x61, 0x0a, 0xe6, 0x9d], NOT],
  ])('is refused with its line number: %s', async (_, line, bytes, is) => {
    const message = `a.ndjson line ${line}: ${is}`
    expect(await failure(read(new Uint8Array(bytes)))).toBe(message)
    expect(await failure(read(...cut(new Uint8Array(bytes), 1)))).toBe(message)
    expect(await failure(read(gzipSync(new Uint8Array(bytes))))).toBe(message)
  })

  test('is refused with its line number for every cut into chunks', async () => {
    const good = utf8('Zoë 👩‍🏫\r\n\n李 小龍\n')
    for (const bad of [
      [0xc5, 0xbd, 0xeb, 0x41],
      [0x80, 0x41],
      [0xe6, 0x9d],
    ]) {
      const bytes = Buffer.concat([good, good, Buffer.from(bad), utf8('\n'), good])
      for (let size = 1; size <= bytes.length; size++)
        expect(await failure(read(...cut(bytes, size)))).toMatch(/^a\.ndjson line 7: /)
    }
  })
})

test.each([
  ['plain', (bytes: Uint8Array) => bytes],
  ['gzipped', (bytes: Uint8Array) => gzipSync(bytes)],
])('text that is not UTF-8 is refused immediately, %s, even if its source stays open', async (_, stored) => {
  async function* chunks() {
    yield stored(Buffer.from('\xff\n'.repeat(100_000), 'latin1'))
    await new Promise(() => {})
  }
  const reading = (async () => {
    for await (const _ of readLines({ chunks: chunks() }, IGNORED));
  })()
  const timeout = Bun.sleep(5000).then(() => 'it waits for more')
  expect(await Promise.race([failure(reading), timeout])).toMatch(
    /^the data line 1: a character is not UTF-8: /,
  )
})

describe('a line longer than the limit', () => {
  const longest = 'x'.repeat(MAX_LINE)

  test.each([1000, 65_536, 3 * MAX_LINE])(
    'is returned without its text, in chunks of %d bytes',
    async size => {
      const text = `a\n${longest}\n${longest}x\nb\n${longest}${longest}${longest}\nc\n${longest}x`
      const lines = await read(...cut(utf8(text), size))
      expect(lines.map(({ number, text }) => [number, text?.length])).toEqual([
        [1, 1],
        [2, MAX_LINE],
        [3, undefined],
        [4, 1],
        [5, undefined],
        [6, 1],
        [7, undefined],
      ])
    },
  )

  test('of 400 MB is read as one line, in constant memory', async () => {
    // A process of its own: the memory of this one has what other tests left.
    const script = `
      import { readLines } from ${JSON.stringify(join(import.meta.dir, '../../src/import/ndjson.ts'))}
      const piece = new Uint8Array(256 * 1024).fill(0x78)
      let most = 0
      async function* chunks() {
        for (let count = 0; count < 1600; count++) {
          if (count % 100 === 0) Bun.gc(true)
          most = Math.max(most, process.memoryUsage.rss())
          yield piece
        }
        yield Buffer.from('\\nb\\n')
      }
      Bun.gc(true)
      const before = process.memoryUsage.rss()
      const lines = []
      for await (const batch of readLines({ chunks: chunks() }, { bytes() {}, members() {} })) lines.push(...batch)
      console.log(JSON.stringify({ lines, grown: most - before }))`
    const { lines, grown } = await Bun.$`${process.execPath} -e ${script}`.json()
    expect(lines).toEqual([{ number: 1 }, { number: 2, text: 'b' }])
    expect(grown / 1e6).toBeLessThan(150)
  })
})

describe('gzip', () => {
  const compressed = gzipSync('{"name":"Zoë Žižek"}\r\n\r\n{"name":"李 小龍 👩‍🏫"}\n'.repeat(500))
  const advice =
    /^a\.ndjson line \d+: the gzip data is damaged or cut short .*: fetch or make the file again$/

  test('may have several members, as written by cat a.gz b.gz, which is reported', async () => {
    const members = Buffer.concat([gzipSync('a\nb'), gzipSync('c\n'), gzipSync(''), gzipSync('d')])
    const lines = [
      { number: 1, text: 'a' },
      { number: 2, text: 'bc' },
      { number: 3, text: 'd' },
    ]
    expect(await read(members)).toEqual(lines)
    expect(await read(...cut(members, 5))).toEqual(lines)
    const isReported = async (bytes: Uint8Array) => {
      let reports = 0
      const on = { ...IGNORED, members: () => void reports++ }
      for await (const _ of readLines({ chunks: yielding(cut(bytes, 7)) }, on));
      return reports
    }
    expect(await isReported(members)).toBe(1)
    expect(await isReported(Buffer.concat([gzipSync('a'), gzipSync('')]))).toBe(1)
    expect(await isReported(compressed)).toBe(0)
    expect(await isReported(gzipSync(''))).toBe(0)
  })

  test.each([
    ['zero bytes', [Buffer.alloc(8)]],
    ['a zero byte', [Buffer.alloc(1)]],
    ['zero bytes and another member', [Buffer.alloc(3), gzipSync('b\n')]],
  ])('is refused if %s follow', async (_, rest) => {
    const bytes = Buffer.concat([gzipSync('a\n'), ...rest])
    const message = 'a.ndjson is damaged: other bytes follow its gzip data: fetch or make the file again'
    expect(await failure(read(bytes))).toBe(message)
    for (const size of [1, 5, 22]) expect(await failure(read(...cut(bytes, size)))).toBe(message)
  })

  test.each([2, 3, 9, 10, 11, 40, compressed.length - 9, compressed.length - 8, compressed.length - 1])(
    'is refused if it is truncated after %d bytes',
    async length => {
      expect(await failure(read(compressed.subarray(0, length)))).toMatch(advice)
    },
  )

  test('is refused if its checksum is wrong, or if garbage or half a member follows', async () => {
    const damaged = Buffer.from(compressed)
    damaged.writeUInt8(damaged.readUInt8(compressed.length - 6) ^ 0xff, compressed.length - 6)
    expect(await failure(read(damaged))).toMatch(advice)
    for (const rest of [utf8('something else'), gzipSync('b\n').subarray(0, -4)])
      expect(await failure(read(Buffer.concat([compressed, rest])))).toMatch(advice)
  })

  test('is refused wherever a byte is damaged, as damaged gzip data or as invalid UTF-8', async () => {
    for (let place = 12; place < compressed.length; place += 3) {
      const damaged = Buffer.from(compressed)
      damaged.writeUInt8(damaged.readUInt8(place) ^ 0x55, place)
      expect(await failure(read(damaged))).toMatch(
        /^a\.ndjson line \d+: (the gzip data is damaged|a character is not UTF-8)/,
      )
    }
  })

  test('is refused with the number of the last line that could be read', async () => {
    const lines = Array.from({ length: 100_000 }, (_, at) => `${at * 7919}\n`).join('')
    const message = await failure(read(...cut(gzipSync(lines).subarray(0, -5000), 4096)))
    expect(message).toMatch(advice)
    expect(Number(/line (\d+)/.exec(String(message))?.[1])).toBeWithin(90_000, 100_000)
  })

  test('is not named in the error when reading the source fails', async () => {
    async function* breaking() {
      yield compressed.subarray(0, 100)
      throw new Error('the disk is broken')
    }
    const reading = (async () => {
      for await (const _ of readLines({ chunks: breaking() }, IGNORED));
    })()
    expect(String(await failure(reading))).toContain('the disk is broken')
    expect(String(await failure(reading))).not.toContain('gzip')
  })
})

describe('a source', () => {
  test.each([
    ['plain', (text: string) => utf8(text)],
    ['gzipped', (text: string) => gzipSync(text, { level: 0 })],
  ])(
    'that is %s is read no faster than its lines are consumed, and is closed when the consumer stops',
    async (_, stored) => {
      const bytes = stored('line of the file\n'.repeat(500_000))
      let taken = 0
      let isReleased = false
      async function* chunks() {
        try {
          for (const chunk of cut(bytes, 16 * 1024)) {
            taken += 1
            yield chunk
          }
        } finally {
          isReleased = true
        }
      }
      const lines = readLines({ chunks: chunks() }, IGNORED)
      await lines.next()
      // Enough turns of the event loop for a source without backpressure to be read to its end.
      for (let turn = 0; turn < 200; turn++) await nextTurn()
      expect(taken).toBeLessThan(100)
      await lines.return(undefined)
      for (let turn = 0; turn < 1000 && !isReleased; turn++) await nextTurn()
      expect(isReleased).toBe(true)
      expect(taken).toBeLessThan(200)
    },
  )

  test('reports the stored bytes of each chunk', async () => {
    const chunks = cut(gzipSync('a\n'.repeat(100_000)), 50)
    const sizes: number[] = []
    for await (const _ of readLines(
      { chunks: yielding(chunks) },
      { ...IGNORED, bytes: size => void sizes.push(size) },
    ));
    expect(sizes).toEqual(chunks.map(({ length }) => length))
  })
})
