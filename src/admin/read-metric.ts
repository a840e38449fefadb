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
