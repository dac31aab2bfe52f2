import { Double, ErrorReply, Flat, NO_LIST, type Reply, Status, Verbatim, Written } from './reply.ts'

export type Protocol = 2 | 3

/** Writes a reply as the bytes of the protocol, one in each character. */
export function serialize(reply: Reply, protocol: Protocol): string {
  if (typeof reply === 'string') return `$${reply.length}\r\n${reply}\r\n`
  if (typeof reply === 'number' || typeof reply === 'bigint') return `:${reply}\r\n`
  if (reply === null) return protocol === 3 ? '_\r\n' : '$-1\r\n'
  if (reply === NO_LIST) return protocol === 3 ? '_\r\n' : '*-1\r\n'
  if (typeof reply === 'boolean')
    return protocol === 3 ? `#${reply ? 't' : 'f'}\r\n` : `:${reply ? 1 : 0}\r\n`
  if (reply instanceof Status) return `+${reply.text}\r\n`
  if (reply instanceof ErrorReply)
    return `-${reply.message.replace(/[\r\n]+$/, '').replace(/[\r\n]/g, ' ')}\r\n`
  if (reply instanceof Double) {
    return protocol === 3 ? `,${reply.text}\r\n` : serialize(reply.text, protocol)
  }
  if (reply instanceof Written) return reply.bytes
  if (reply instanceof Verbatim) {
    return protocol === 3
      ? `=${reply.text.length + 4}\r\ntxt:${reply.text}\r\n`
      : serialize(reply.text, protocol)
  }
  if (reply instanceof Flat) return serializeFlat(reply, protocol)
  return list('*', reply, reply.length, protocol)
}

function list(sign: string, items: readonly Reply[], length: number, protocol: Protocol): string {
  let text = `${sign}${length}\r\n`
  for (const item of items) text += serialize(item, protocol)
  return text
}

function serializeFlat({ kind, items }: Flat, protocol: Protocol): string {
  if (protocol === 3) {
    if (kind === 'set') return list('~', items, items.length, protocol)
    if (kind === 'map' || kind === 'streams') return list('%', items, items.length / 2, protocol)
  } else if (kind !== 'streams') return list('*', items, items.length, protocol)
  let text = `*${items.length / 2}\r\n`
  for (let at = 0; at < items.length; at += 2) text += list('*', items.slice(at, at + 2), 2, protocol)
  return text
}
