/** A key press: a named key, or a typed character. */
export type Key =
  | { readonly name: KeyName; readonly character?: undefined }
  | { readonly name: 'character'; readonly character: string }

type KeyName =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'home'
  | 'end'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'erase-line'
  | 'interrupt'

const ESCAPE = '\u001b'

/** The sequences that terminals send, with `O` or `[` depending on their mode. */
const NAMES: ReadonlyMap<string, KeyName> = new Map([
  ...sequences('up', 'A'),
  ...sequences('down', 'B'),
  ...sequences('home', 'H', '1~', '7~'),
  ...sequences('end', 'F', '4~', '8~'),
  ...sequences('page-up', '5~'),
  ...sequences('page-down', '6~'),
  ['\r', 'enter'],
  ['\n', 'enter'],
  [ESCAPE, 'escape'],
  ['\u007f', 'backspace'],
  ['\b', 'backspace'],
  ['\u0015', 'erase-line'],
  ['\u0003', 'interrupt'],
])

// Built, because a literal must not hold a control character.
const TOKEN = new RegExp(`${ESCAPE}\\[[0-9;?]*[ -/]*[@-~]|${ESCAPE}O[A-Za-z]|[^]`, 'gu')

/** Parses the input of a terminal in raw mode; unknown sequences are ignored. */
export function readKeys(text: string): Key[] {
  return (text.match(TOKEN) ?? []).flatMap((token): Key[] => {
    const name = NAMES.get(token)
    if (name !== undefined) return [{ name }]
    return /^[^\p{Control}\p{Surrogate}]$/u.test(token) ? [{ name: 'character', character: token }] : []
  })
}

function sequences(name: KeyName, ...ends: readonly string[]): [string, KeyName][] {
  return ends.flatMap((end) => [`[${end}`, `O${end}`].map((tail): [string, KeyName] => [ESCAPE + tail, name]))
}
