import { connect } from 'node:net'
import { until } from '../../support/until.ts'

/** Until something on this machine takes connections at a port. */
export async function canConnect(port: number): Promise<void> {
  await until(`port ${port} takes connections`, () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
    return promise.finally(() => socket.destroy())
  })
}
