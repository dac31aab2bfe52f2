/** Whether a text matches a pattern as `KEYS` and `MATCH` take it. */
export function globTest(pattern: string): (text: string) => boolean {
  const expression = new RegExp(`^${translate(pattern)}$`, 's')
  return (text) => expression.test(text)
}

function translate(pattern: string): string {
  let code = ''
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!
    if (char === '*') {
      // Several of them would take a regular expression very long.
      if (pattern[at - 1] !== '*' || at === 0) code += '.*'
    } else if (char === '?') code += '.'
    else if (char === '[') {
      const [part, end] = characters(pattern, at)
      code += part
      at = end
    } else if (char === '\\' && at + 1 < pattern.length) code += literal(pattern[++at]!)
    else code += literal(char)
  }
  return code
}

function literal(char: string): string {
  return `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`
}

/** A set in brackets, which may lack its closing one. */
function characters(pattern: string, start: number): readonly [string, number] {
  let at = start + 1
  const isInverted = pattern[at] === '^'
  if (isInverted) at++
  let parts = ''
  for (; at < pattern.length && pattern[at] !== ']'; at++) {
    if (pattern[at] === '\\' && at + 1 < pattern.length) parts += literal(pattern[++at]!)
    else if (pattern[at + 1] === '-' && at + 2 < pattern.length) {
      const [low, high] = [pattern[at]!, pattern[at + 2]!].sort()
      parts += `${literal(low!)}-${literal(high!)}`
      at += 2
    } else parts += literal(pattern[at]!)
  }
  const set = parts === '' ? (isInverted ? '[^]' : '(?!)') : `[${isInverted ? '^' : ''}${parts}]`
  return [set, Math.min(at, pattern.length - 1)]
}
