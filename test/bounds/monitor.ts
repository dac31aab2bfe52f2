import { connect } from 'node:net'
import type { Redis } from 'ioredis'

/**
 * What MONITOR shows while `act` is under way. The lines are read afterwards: a client that reads each as it comes holds up the
 * server.
 *
 * @param redis a client of the server, which has no password
 */
export async function linesDuring(redis: Redis, act: () => Promise<unknown>): Promise<string[]> {
  const { path, host, port } = redis.options
  const socket = path === undefined ? connect(port!, host!) : connect(path)
  try {
    socket.write('MONITOR\r\n')
    await new Promise((resolve, reject) => {
      // Its answer: from here on all commands are shown.
      socket.once('data', resolve)
      socket.once('error', reject)
    })
    const chunks: Buffer[] = []
    let hear: () => void = () => undefined
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      hear()
    })
    await act()
    const end = `end ${Math.random()}`
    await redis.echo(end)
    await new Promise<void>((resolve) => {
      hear = () => {
        if (Buffer.concat(chunks.slice(-2)).includes(end)) resolve()
      }
      hear()
    })
    return Buffer.concat(chunks).toString('latin1').split('\r\n')
  } finally {
    socket.destroy()
  }
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b' }

/** Reads one line of MONITOR; a byte of a word is a character. */
export function readLine(line: string): { readonly isOfScript: boolean; readonly words: string[] } {
  const [head = ''] = /^\S+ \[[^\]]*\]/.exec(line) ?? []
  const words = [...line.slice(head.length).matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) =>
    word!.replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, code?: string, sign?: string) =>
      code === undefined ? (ESCAPES[sign!] ?? sign!) : String.fromCharCode(Number.parseInt(code, 16)),
    ),
  )
  return { isOfScript: head.endsWith(' lua]'), words }
}
