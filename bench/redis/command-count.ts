import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'

const LONGEST_LABEL = 48

/** What a server was asked to do. */
export interface CommandTally {
  /** Commands that clients sent: each is a message to the server. A script counts once. */
  readonly sent: ReadonlyMap<string, number>
  /** Commands that scripts ran inside the server. */
  readonly inside: number
}

/**
 * Counts with MONITOR, which tells what a client sent from what a script ran; `INFO commandstats` adds the two up.
 * Begin before a product opens: a script is named by the first words of its text, which travels only once.
 */
export async function countCommands(socket: string): Promise<{ reset(): void; tally(): CommandTally }> {
  const monitor = await new Redis(socket).monitor()
  const labels = new Map<string, string>()
  const sent = new Map<string, number>()
  let inside = 0
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source === 'lua') {
      inside++
      return
    }
    const [name = '', first = '', second = ''] = args
    const verb = name.toLowerCase()
    const text =
      verb === 'eval' ? first : verb === 'script' && first.toLowerCase() === 'load' ? second : undefined
    if (text !== undefined) {
      const script = withoutEscapes(text)
      labels.set(createHash('sha1').update(script).digest('hex'), labelOf(script))
    }
    const called = verb === 'evalsha' ? first : verb === 'eval' ? labelOf(withoutEscapes(text ?? '')) : verb
    sent.set(called, (sent.get(called) ?? 0) + 1)
  })
  return {
    reset() {
      sent.clear()
      inside = 0
    },
    tally() {
      const named = new Map<string, number>()
      for (const [called, count] of sent) {
        const label = labels.get(called) ?? called
        named.set(label, (named.get(label) ?? 0) + count)
      }
      return { sent: named, inside }
    },
  }
}

/** MONITOR writes a text with escapes; ioredis has already taken away those before quotes. */
function withoutEscapes(text: string): string {
  return text.replace(/\\([nrt\\])/g, (_, letter: string) => ESCAPES[letter] ?? letter)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** The first words of a script; of ours, whose verb comes after the parts that it uses, of the verb. */
function labelOf(script: string): string {
  const header = /^(--.*)\n(?:--.*\n)*-- uses: /m.exec(script)?.[1] ?? script
  const words = header
    .replace(/^#!.*\n|--\[\[|--/g, ' ')
    .trim()
    .split('\n')[0]!
    .replaceAll('|', '/')
    .trim()
  return `script "${words.length > LONGEST_LABEL ? `${words.slice(0, LONGEST_LABEL)}…` : words}"`
}
