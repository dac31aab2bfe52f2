/** The line of a library that has functions of one table alone, such as `usage`. */
const OF = /^-- of: (\w+)$/m

/**
 * Puts the text of a script together. To make all functions of its libraries would take longer than most calls do besides, so:
 *
 * - What nearly all of them use, the `base`, is in a function around the rest. For a variable of the function that makes it, a function
 *   is made by going through all that others use and were declared later there; what is further out it takes at once.
 * - Libraries of one table are made when one of their functions is first called: where a limit is a pace alone, none is. A field of such
 *   a table that is not there is looked for each time, so what is read has a value from the beginning.
 *
 * @param base the first lines of the script
 */
export function scriptText(base: readonly string[], libraries: readonly string[], body: string): string {
  const atOnce: string[] = []
  const ofTables = new Map<string, string[]>()
  for (const library of libraries) {
    const table = OF.exec(library)?.[1]
    if (table === undefined) atOnce.push(library)
    else ofTables.set(table, [...(ofTables.get(table) ?? []), library])
  }
  const later = [...ofTables].map(([table, some]) => madeWhenCalled(table, some))
  return [...base, 'return (function()', ...atOnce, ...later, body, 'end)()'].join('\n')
}

/** The functions of a library that are fields of the table. */
function functionsOf(table: string, library: string): string[] {
  const definitions = library.matchAll(new RegExp(`^ *function ${table}\\.(\\w+)\\(`, 'gm'))
  return [...definitions].map(([, name]) => name!)
}

function madeWhenCalled(table: string, libraries: readonly string[]): string {
  const cases = libraries.map((library) => {
    const isAsked = functionsOf(table, library).map((name) => `name == '${name}'`)
    return `if ${isAsked.join(' or ')} then\n${library}`
  })
  const make = `${cases.join('\nelse')}\nend`
  return `setmetatable(${table}, { __index = function(_, name)\n${make}\nreturn rawget(${table}, name)\nend })`
}
