import type { Host } from './host.ts'
import type { Action } from './plan.ts'

type Trouble = Extract<Action, { does: 'trouble' }>

/** Starts a failure. A lasting failure ends by itself. */
export function begin(trouble: Trouble, hosts: Host[]): void {
  const host = hosts[trouble.host % hosts.length] as Host
  if ('lasts' in trouble) beginLasting(trouble, host)
  else beginSudden(trouble, host, hosts)
}

function beginLasting({ kind, lasts }: Extract<Trouble, { lasts: number }>, host: Host): void {
  const isOver = (end: () => void) => host.time.add('outside', lasts, end)
  switch (kind) {
    case 'silent':
    case 'forgetful':
      host.isSilent = true
      if (kind === 'forgetful') for (const link of host.links) link.forget()
      isOver(() => host.resume(kind === 'forgetful'))
      return
    case 'deaf':
      host.isDeafToCancel = true
      isOver(() => {
        host.isDeafToCancel = false
      })
      return
    case 'standby':
      host.isStandby = !host.isStandby
      isOver(() => {
        host.isStandby = !host.isStandby
      })
      return
    default:
      host.door = kind
      if (kind !== 'full') host.restart()
      isOver(() => {
        host.door = 'open'
      })
  }
}

function beginSudden(trouble: Extract<Trouble, { which: number }>, host: Host, hosts: Host[]): void {
  const processes = [...host.processes.values()]
  const process = processes[trouble.which % processes.length]
  switch (trouble.kind) {
    case 'cut one':
      process?.end()
      return
    case 'forget one':
      process?.link.forget()
      return
    case 'conflict':
      process?.conflict()
      return
    case 'restart':
      host.restart()
      return
    case 'switchover':
      for (const each of hosts) each.isStandby = !each.isStandby
  }
}

/** Ends all failures. */
export function endAll(hosts: Host[]): void {
  for (const [index, host] of hosts.entries()) {
    host.door = 'open'
    host.isDeafToCancel = false
    host.isStandby = index > 0
    host.resume()
  }
}
