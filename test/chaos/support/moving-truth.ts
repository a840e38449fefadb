import type { Truth } from './truth.ts'

interface Body {
  data: { id: number; name: string; results: { proctor_name: string }[] }[]
  meta: { count: number; offset: number; page: number }
}

/**
 * What holds while writers rename everybody at once, again and again, and add and remove records behind all
 * others: the records of `base` stay where they are, an answer shows the names of one moment, and at most
 * `added` records come after.
 */
export function movingTruth(base: Truth, added: number): Truth {
  return {
    ids: base.ids,
    queries: [],
    has: base.has,
    accepts: (path, text) => {
      const body = JSON.parse(text) as Body | Body['data'][number]
      if (!('data' in body)) return base.has(body.id) && isOfOneMoment([body])
      const [, offset] = /&offset=(\d+)$/.exec(path) ?? []
      const { data, meta } = body
      const ids = data.map(({ id }) => id)
      const known = base.ids.slice(Number(offset), Number(offset) + meta.page)
      return (
        meta.offset === Number(offset) &&
        meta.count >= base.ids.length &&
        meta.count <= base.ids.length + added &&
        ids.length === Math.max(0, Math.min(meta.page, meta.count - meta.offset)) &&
        ids.slice(0, known.length).join() === known.join() &&
        isOfOneMoment(data)
      )
    },
  }
}

/** All names end in the same version: " v12", or none does. */
function isOfOneMoment(records: Body['data']): boolean {
  const names = records.flatMap(({ name, results }) => [name, ...results.map(result => result.proctor_name)])
  return new Set(names.map(name => / v\d+$/.exec(name)?.[0])).size <= 1
}
