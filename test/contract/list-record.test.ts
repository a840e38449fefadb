import { describe, expect, test } from 'bun:test'
import {
  assessment,
  educator,
  multiPart,
  organization,
  proctor,
  product,
  world,
} from '../support/fixtures.ts'
import { contract, LIST } from './support/contract.ts'
import { rule } from './support/rule.ts'

const ODD = `"q" \\b\\ /s/ </script> tab\t nl\n cr\r bell\u0007 us\u001f del\u007f ls\u2028 {}[]:, 'single' %s $1 \${x}`
const FAR = 'Ñandú Łukasz Ὀδυσσεύς Наталія 山田太郎 محمد e\u0301 ﬁ 😀👩‍👩‍👧'

const EDUCATOR_OF_FAR = {
  seid: null,
  name: `Name ${FAR}`,
  first_name: `First ${FAR}`,
  last_name: `Last ${FAR}`,
  email: 'ñ@example.org',
}
/** Control characters are excluded from seids, because no filter could contain them. */
const ODD_SEID = ODD.replaceAll(/\p{Cc}/gu, '')
const EDUCATOR_OF_ODD = { seid: ODD_SEID, name: ODD, first_name: ODD, last_name: ODD, email: ODD }

const setup = {
  lines: [
    ...world(),
    organization(20, `École ${FAR}`),
    product(2, `Étude ${FAR}`),
    product(3, ODD),
    educator(502, EDUCATOR_OF_FAR),
    educator(503, { ...EDUCATOR_OF_ODD, record_status: 'archived' }),
    { type: 'user', id: 504, name: 'No Seid', first_name: 'No', last_name: 'Seid', email: 'n@x.org' },
    proctor(78, `Proctor ${FAR}`),
    proctor(79, ODD),
    assessment(9001),
    multiPart(
      9100,
      [
        { id: 9109, name: 'Written part', certified_at: '2026-02-11', proctor_id: 78 },
        { id: 9101, name: 'Oral part', certified_at: '2026-03-09T23:59:59Z', proctor_id: 77 },
        { id: 9105, name: `Third ${FAR}`, certified_at: '2025-12-31', proctor_id: 78 },
      ],
      { certified_at: '2026-03-10T08:00:00Z', legacy_record: true },
    ),
    assessment(9002, { user_id: 502, organization_id: 20, product_id: 2, proctor_id: 78 }),
    assessment(9003, { user_id: 503, product_id: 3, proctor_id: 79 }),
    multiPart(9200, [{ id: 9201, name: 'The only part', certified_at: '2026-02-28', proctor_id: 77 }]),
    assessment(9004, { user_id: 504 }),
  ],
  integrations: {
    main: { organizations: [10, 20], products: [1, 2, 3] },
    narrow: { organizations: [10], products: [1] },
  },
} as const

const SINGLE = {
  id: 9001,
  seid: '1234567890',
  name: 'Ana M. Ruiz',
  first_name: 'Ana',
  last_name: 'Ruiz',
  email: 'ana@example.org',
  organization_id: 10,
  organization_name: 'Lakeside District',
  assessment_name: 'Reading Observation',
  certified_on: '2026-03-01',
  results: [part(9001, 'Reading Observation', '2026-03-01', 77, 'Paul Proctor')],
}

function part(id: number, name: string, certifiedOn: string, proctorId: number, proctorName: string) {
  return {
    assessment_id: id,
    assessment_name: name,
    certified_on: certifiedOn,
    proctor_id: proctorId,
    proctor_name: proctorName,
  }
}

contract('The list', setup, api => {
  const recordOf = async (id: number) => {
    const { data } = await api.list('page=100')
    const record = data.find(each => each.id === id)
    if (!record) throw new Error(`there is no ${id}`)
    return record
  }

  describe('a record', () => {
    test(rule('has exactly the fields of the contract in their order, as compact JSON', 'R2'), async () => {
      const { text } = await api.tryList('filter[user_ids][]=501&filter[product_ids][]=1&page=1')
      const body = { data: [SINGLE], meta: { count: 3, offset: 0, page: 1 } }
      expect(text).toBe(JSON.stringify(body))
    })

    test(
      rule('without separate parts has one result, which describes the assessment itself', 'R6'),
      async () => {
        expect((await recordOf(9001)).results).toEqual(SINGLE.results)
      },
    )

    test(rule('of several parts lists all parts in the order of their import', 'R7'), async () => {
      const { data } = await api.list('sort=certified_on&order=DESC&page=1')
      const expected = {
        ...SINGLE,
        id: 9100,
        certified_on: '2026-03-10',
        results: [
          part(9109, 'Written part', '2026-02-11', 78, `Proctor ${FAR}`),
          part(9101, 'Oral part', '2026-03-09', 77, 'Paul Proctor'),
          part(9105, `Third ${FAR}`, '2025-12-31', 78, `Proctor ${FAR}`),
        ],
      }
      expect(JSON.stringify(data)).toBe(JSON.stringify([expected]))
    })

    test(rule("of one separate part lists that part with the part's own id", 'R7'), async () => {
      expect((await recordOf(9200)).results).toEqual([
        part(9201, 'The only part', '2026-02-28', 77, 'Paul Proctor'),
      ])
    })

    test(rule('has a null seid if no seid was ever recorded', 'R4'), async () => {
      expect((await recordOf(9002)).seid).toBeNull()
      expect((await recordOf(9004)).seid).toBeNull()
    })

    test.each([
      [
        'non-ASCII text',
        { id: 9002, ...EDUCATOR_OF_FAR, organization_id: 20, organization_name: `École ${FAR}` },
        part(9002, `Étude ${FAR}`, '2026-03-01', 78, `Proctor ${FAR}`),
      ],
      [
        'quotes, backslashes and control characters',
        { id: 9003, ...EDUCATOR_OF_ODD, organization_id: 10, organization_name: 'Lakeside District' },
        part(9003, ODD, '2026-03-01', 79, ODD),
      ],
    ])('keeps %s unchanged', async (_, fields, result) => {
      const { assessment_name, certified_on } = result
      const record = { ...fields, assessment_name, certified_on, results: [result] }
      expect(await recordOf(fields.id)).toEqual(record)
    })

    test(rule('is listed once for each completed assessment of an educator', 'R1'), async () => {
      expect(await api.ids('filter[user_ids][]=501')).toEqual([9001, 9200, 9100])
    })

    test(rule('has exact ids up to the largest', 'R3'), async () => {
      const { sql } = api.service
      const ids = ['9007199254740993', '9223372036854775807']
      try {
        await sql.begin(async tx => {
          await tx`insert into assessments select id, 501, 10, 1, '1999-12-31' from unnest(${ids}::bigint[]) as id`
          await tx`insert into assessment_parts select id, id, 0, null, null, 77 from unnest(${ids}::bigint[]) as id`
        })
        const { text } = await api.tryList('filter[end_date]=1999-12-31')
        for (const id of ids) {
          expect(text).toContain(`{"id":${id},`)
          expect(text).toContain(`{"assessment_id":${id},`)
          const record = await api.get(`${LIST}/${id}`)
          expect(record.status).toBe(200)
          expect(record.text).toStartWith(`{"id":${id},`)
        }
        expect(text).toEndWith('"meta":{"count":2,"offset":0,"page":50}}')
      } finally {
        await sql`delete from assessments where id = any(${ids}::bigint[])`
      }
    })
  })

  describe('the body', () => {
    test(
      rule('has exactly data and meta, and meta has exactly count, offset and page', 'L6', 'L5'),
      async () => {
        const { status, body, headers } = await api.tryList('page=2&offset=1')
        expect(status).toBe(200)
        expect(headers.get('content-type')).toMatch(/^application\/json(;|$)/)
        expect(Object.keys(body as object)).toEqual(['data', 'meta'])
        expect((body as { meta: unknown }).meta).toEqual({ count: 6, offset: 1, page: 2 })
        expect((body as { data: unknown[] }).data).toHaveLength(2)
      },
    )

    test(rule('has empty data and a count of 0 with status 200 if nothing matches', 'L8'), async () => {
      const { status, text } = await api.tryList('filter[seids][]=nobody')
      expect(status).toBe(200)
      expect(text).toBe('{"data":[],"meta":{"count":0,"offset":0,"page":50}}')
    })

    test(rule('does not depend on the scope: a record is the same for a narrower scope', 'S3'), async () => {
      const query = 'filter[user_ids][]=501'
      const wide = await api.tryList(query)
      const narrow = await api.tryList(query, 'narrow')
      expect(narrow.text).toBe(wide.text)
      expect([...narrow.headers.keys()]).toEqual([...wide.headers.keys()])
      expect(await api.ids('', 'narrow')).toEqual([9001, 9004, 9200, 9100])
    })
  })
})
