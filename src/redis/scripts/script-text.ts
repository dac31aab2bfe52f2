import { calledFunctions, functionsOf, tableOf } from './called-functions.ts'

/**
 * Puts the text of a script together. To make all functions of its libraries would take longer than most calls do besides, so:
 *
 * - What nearly all of them use, the `base`, is in a function around the rest. For a variable of the function that makes it, a function
 *   is made by going through all that others use and were declared later there; what is further out it takes at once.
 * - Libraries of one table are made when one of their functions is first called: where a limit is a pace alone, none is. A field of such
 *   a table that is not there is looked for each time, so what is read has a value from the beginning.
 * - What the script never calls is left out.
 *
 * @param base the first lines of the script
 */
export function scriptText(base: readonly string[], libraries: readonly string[], body: string): string {
  const [around, called] = calledOf(base, libraries, body)
  const atOnce: string[] = []
  const ofTables = new Map<string, string[]>()
  for (const library of called) {
    const table = tableOf(library)
    if (table === undefined) atOnce.push(library)
    else ofTables.set(table, [...(ofTables.get(table) ?? []), library])
  }
  const later = [...ofTables].map(([table, some]) => madeWhenCalled(table, some))
  const verb = [...atOnce, ...later, body, 'end)()']
  if (!ofTables.has('family')) return [...around, 'return (function()', ...verb].join('\n')
  return [...around, 'local answered = (function()', ...verb, ...LAST].join('\n')
}

/** What was changed of totals is written once, at the end. */
const LAST = ['if family.touched or family.unwritten then family.settle_all(true) end', 'return answered']

/** What the script calls of its base, and of its libraries, without those of which that is nothing. */
function calledOf(base: readonly string[], libraries: readonly string[], body: string): [string[], string[]] {
  const called = calledFunctions([...base, ...libraries], [body, ...LAST].join('\n'))
  return [called.slice(0, base.length), called.slice(base.length).filter((library) => library !== '')]
}

function madeWhenCalled(table: string, libraries: readonly string[]): string {
  const cases = libraries.map((library) => {
    const isAsked = functionsOf(table, library).map((name) => `name == '${name}'`)
    return `if ${isAsked.join(' or ')} then\n${library}`
  })
  const make = `${cases.join('\nelse')}\nend`
  return `setmetatable(${table}, { __index = function(_, name)\n${make}\nreturn rawget(${table}, name)\nend })`
}
