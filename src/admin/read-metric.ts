import { Counter, Gauge, type Registry } from 'prom-client'

/** The value of a metric now; undefined while it is not known. */
export type Read = () => number | undefined | Promise<number | undefined>

/** Adds a metric that is read for each scrape, and absent while that gives undefined: a counter if named …_total. */
export function addRead(registry: Registry, name: string, help: string, read: Read): void {
  const Metric = name.endsWith('_total') ? Counter : Gauge
  new Metric({
    name,
    help,
    registers: [registry],
    async collect() {
      const value = await read()
      this.reset()
      if (value === undefined) this.remove()
      else this.inc(value)
    },
  })
}

/** The values of a metric now, each for a value of its label; null for one that is not known. */
export type ReadEach = () => Promise<Iterable<[labelValue: string, value: string | null]>>

/** Adds a metric with one label, whose values are read for each scrape: a counter if named …_total. */
export function addReadEach(
  registry: Registry,
  [name, help]: [name: string, help: string],
  label: string,
  read: ReadEach,
): void {
  const Metric = name.endsWith('_total') ? Counter : Gauge
  new Metric({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    async collect() {
      const values = await read()
      this.reset()
      for (const [labelValue, value] of values)
        if (value !== null) this.inc({ [label]: labelValue }, Number(value))
    },
  })
}
