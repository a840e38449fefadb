import { connect } from 'node:net'
import { until } from '../../support/until.ts'

/** Waits until a program on this machine accepts connections at a port. */
export async function canConnect(port: number): Promise<void> {
  await until(`port ${port} accepts connections`, () => {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const socket = connect(port, '127.0.0.1', () => resolve(true)).once('error', () => resolve(false))
    return promise.finally(() => socket.destroy())
  })
}
