import { BlockList, isIP } from 'node:net'

/** Reads a list with commas: "10.0.0.7, 192.168.0.0/16, fd00::/8". @throws Error that describes a valid list */
export function readNetworks(list: string): BlockList {
  const networks = new BlockList()
  for (const entry of list.split(',').map(entry => entry.trim())) {
    const [, address = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(entry) ?? []
    const most = isIP(address) === 6 ? 128 : 32
    if (isIP(address) === 0 || Number(bits ?? most) > most)
      throw new Error('must be addresses and networks with commas between them, as 10.0.0.7, 192.168.0.0/16')
    networks.addSubnet(address, Number(bits ?? most), familyOf(address))
  }
  return networks
}

/** The family of a valid address, as BlockList names it. */
export const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')
