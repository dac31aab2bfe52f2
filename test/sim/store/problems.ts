import type { Command } from './commands/command.ts'
import type { SessionCommand } from './session-commands.ts'

/** Commands that a server answers while it reads its data. */
const WHILE_LOADING: ReadonlySet<string> = new Set([
  'auth',
  'client',
  'config',
  'discard',
  'hello',
  'info',
  'multi',
  'quit',
  'script',
  'select',
  'unwatch',
  'watch',
])

/** Why a command can neither run nor be queued, as the error that says so. */
export function problemOf(
  words: readonly string[],
  known: Command | SessionCommand | undefined,
  {
    isFull,
    isLoading,
    refusal,
  }: { readonly isFull: boolean; readonly isLoading: boolean; readonly refusal?: string | undefined },
): string | undefined {
  const name = words[0]!.toLowerCase()
  if (known === undefined) {
    return `ERR unknown command '${words[0]!.split('\0')[0]!.slice(0, 128)}', with args beginning with: ${shown(words)}`
  }
  if (!arityFits(known, words)) return `ERR wrong number of arguments for '${name}' command`
  if ('parts' in known && known.parts !== undefined) {
    const part = words[1]!.toLowerCase()
    const arity = Object.hasOwn(known.parts, part) ? known.parts[part] : undefined
    if (arity === undefined) {
      return `ERR unknown subcommand '${words[1]!.slice(0, 128)}'. Try ${name.toUpperCase()} HELP.`
    }
    if (!arityFits({ arity }, words)) return `ERR wrong number of arguments for '${name}|${part}' command`
  }
  if ('grows' in known && known.grows && isFull)
    return "OOM command not allowed when used memory > 'maxmemory'."
  if (refusal !== undefined && 'writes' in known && known.writes) return refusal
  if (isLoading && !WHILE_LOADING.has(name)) return 'LOADING Redis is loading the dataset in memory'
  return undefined
}

function arityFits({ arity }: { readonly arity: number }, words: readonly string[]): boolean {
  return arity > 0 ? words.length === arity : words.length >= -arity
}

/** The arguments as the message about an unknown command shows them. */
function shown(words: readonly string[]): string {
  let text = ''
  for (const word of words.slice(1)) {
    if (text.length >= 128) break
    // C's printf ends a text at a zero byte.
    text += `'${word.split('\0')[0]!.slice(0, 128 - text.length)}' `
  }
  return text
}
