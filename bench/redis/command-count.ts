import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { sum } from '../statistics.ts'

const LONGEST_LABEL = 48
const PRODUCT = fileURLToPath(new URL('../../dist/src/', import.meta.url))

/** How often clients sent a command, and how many commands a script ran because of it. */
export interface CommandCount {
  sent: number
  inside: number
}

/** What a server was asked to do. */
export interface CommandTally {
  /** Commands that clients sent, by name: each is a message to the server. A script counts once. */
  readonly sent: ReadonlyMap<string, CommandCount>
  /** Commands that scripts ran inside the server. */
  readonly inside: number
}

/**
 * Counts with MONITOR, which tells what a client sent from what a script ran; `INFO commandstats` adds the two up.
 * Begin before a product opens: a script is named by its text, which travels only once.
 */
export async function countCommands(socket: string): Promise<{ reset(): void; tally(): CommandTally }> {
  const monitor = await new Redis(socket).monitor()
  const labels = new Map<string, string>()
  const sent = new Map<string, CommandCount>()
  let latest: CommandCount | undefined
  monitor.on('monitor', (_time: string, args: string[], source: string) => {
    if (source === 'lua') {
      if (latest !== undefined) latest.inside++
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
    latest = sent.get(called) ?? { sent: 0, inside: 0 }
    latest.sent++
    sent.set(called, latest)
  })
  return {
    reset() {
      sent.clear()
      latest = undefined
    },
    tally() {
      const named = new Map<string, CommandCount>()
      for (const [called, { sent: times, inside }] of sent) {
        const label = labels.get(called) ?? called
        const before = named.get(label) ?? { sent: 0, inside: 0 }
        named.set(label, { sent: before.sent + times, inside: before.inside + inside })
      }
      return { sent: named, inside: sum([...named.values()].map(({ inside }) => inside)) }
    },
  }
}

/** MONITOR writes a text with escapes; ioredis has already taken away those before quotes. */
function withoutEscapes(text: string): string {
  return text.replace(/\\([nrt\\])/g, (_, letter: string) => ESCAPES[letter] ?? letter)
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

/** The name of our scripts, the first words of others. */
function labelOf(script: string): string {
  for (const [verb, text] of OURS) if (script.includes(text)) return `script ${verb}`
  const words = script
    .replace(/^#!.*\n|--\[\[|--/g, ' ')
    .trim()
    .split('\n')[0]!
    .replaceAll('|', '/')
    .trim()
  return `script "${words.length > LONGEST_LABEL ? `${words.slice(0, LONGEST_LABEL)}…` : words}"`
}

/** The scripts of the product as it was built, by name: libraries stand before them. */
const OURS = new Map(
  readdirSync(PRODUCT, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua') && !file.includes('lib/'))
    .map((file) => {
      const text = readFileSync(join(PRODUCT, file), 'utf8')
      return [basename(file, '.lua'), text.replace(/^#!.*\n(-- uses: .*\n)?/, '').trim()]
    }),
)
