import { createHash } from 'node:crypto'
import { dice } from './dice.ts'

const ODD = [
  'a',
  'Z',
  '0',
  ' ',
  '"',
  '\\',
  '/',
  '\0',
  '\n',
  '\u2028',
  'ä',
  'é',
  '中',
  '😀',
  '\ud83d',
  '{',
  '}',
  ':',
] as const
const LENGTHS = [0, 1, 30, 300, 3_000] as const

/** Text for the data of a job, of any length and with characters that are easily spoiled on the way; the same for the same id. */
export function payloadOf(id: string): string {
  const random = dice([...id].reduce((sum, sign) => (sum * 31 + sign.charCodeAt(0)) | 0, 7))
  for (let n = 0; n < 8; n++) random()
  const pick = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)]!
  return Array.from({ length: pick(LENGTHS) }, () => pick(ODD)).join('')
}

/** What is compared, byte for byte: that which is asked for and that which a handler gets. */
export function digestOf(data: unknown): string {
  return createHash('sha1').update(JSON.stringify(data)).digest('base64url')
}
