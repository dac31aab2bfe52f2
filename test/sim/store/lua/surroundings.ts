import type { Expression } from './ast.ts'

/** What a script finds outside of itself, known when it is compiled. */
export interface Surroundings {
  has(name: string): boolean
  /** Of a name, or of a function of a library as `string.sub`. */
  isFunction(path: string): boolean
}

/** Functions that give exactly one value, whatever their arguments. */
const GIVE_ONE: ReadonlySet<string> = new Set(
  (
    'redis.call redis.pcall tostring type math.max math.min math.floor math.ceil math.abs string.sub ' +
    'string.format string.rep struct.pack table.concat cjson.encode cmsgpack.pack'
  ).split(' '),
)

/** The libraries, which no script can change: their functions are found when a script is compiled. */
const LIBRARIES: ReadonlySet<string> = new Set('string table math redis cjson cmsgpack struct bit'.split(' '))

/** The name of a global, or of a function of a library. */
export function pathOf(expression: Expression): string | undefined {
  if (expression.type === 'global') return expression.name
  if (expression.type !== 'index') return undefined
  const { object, key } = expression
  const isPath = object.type === 'global' && key.type === 'string' && LIBRARIES.has(object.name)
  return isPath && /^[A-Za-z_]\w*$/.test(key.value) ? `${object.name}.${key.value}` : undefined
}

export function givesOne(expression: Expression): boolean {
  return expression.type === 'call' && GIVE_ONE.has(pathOf(expression.callee) ?? '')
}

/** What a `for` walks over with `pairs` or `ipairs`, which needs no calls of functions then. */
export function walkedBy(
  values: readonly Expression[],
): { readonly by: 'pairs' | 'ipairs'; readonly table: Expression } | undefined {
  const [call] = values
  if (values.length !== 1 || call?.type !== 'call' || call.callee.type !== 'global') return undefined
  const { name } = call.callee
  const [table] = call.args
  if (table === undefined || call.args.length !== 1 || (name !== 'pairs' && name !== 'ipairs'))
    return undefined
  return { by: name, table }
}
