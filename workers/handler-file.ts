import { stat } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, oneLine, quote } from '../src/core/describe.ts'
import { InvalidOptionsError } from '../src/core/errors.ts'
import { messageOf, toError } from '../src/core/thrown.ts'
import type { Handler } from '../src/line/attempt.ts'

const TYPESCRIPT: ReadonlySet<string> = new Set(['.ts', '.mts', '.cts'])

/**
 * Loads a user's handler: the default export of an ES module (or `module.exports` of a CommonJS one).
 *
 * @param file path relative to the working folder
 * @throws InvalidOptionsError if the file does not exist, does not load, or exports no function
 */
export async function loadHandler(file: string): Promise<Handler<unknown, unknown>> {
  const path = resolve(file)
  const found = await stat(path).catch(() => undefined)
  if (found === undefined) throw refuse(file, 'no such file')
  if (!found.isFile()) throw refuse(file, 'it is not a file')
  const { default: handler, ...others } = await load(file, path)
  if (isHandler(handler)) return handler
  const names = Object.keys(others).slice(0, 5).map(quote).join(', ')
  const exported = names === '' ? '' : ` (it exports ${names})`
  throw refuse(
    file,
    `expected its default export to be a function (job) => result, got: ${describe(handler)}${exported}`,
  )
}

async function load(file: string, path: string): Promise<Record<string, unknown>> {
  try {
    return await import(pathToFileURL(path).href)
  } catch (thrown) {
    const error = toError(thrown)
    const code = 'code' in error ? String(error.code) : ''
    if (TYPESCRIPT.has(extname(path)) && /TYPESCRIPT|UNKNOWN_FILE_EXTENSION/.test(code)) {
      throw refuse(
        file,
        `this Node (${process.version}) cannot load it: compile TypeScript to JavaScript, use only erasable types ` +
          'and Node 22.18 or later, or start node with --import tsx',
      )
    }
    throw refuse(
      file,
      `it threw while it was loaded: ${whereOf(error)}${oneLine(messageOf(error))}${hintFor(error)}`,
    )
  }
}

/** The position in the file, which a syntax error names only above its stack. */
function whereOf(error: Error): string {
  const place = error instanceof SyntaxError ? /^file:.*?([^/\n]+:\d+)$/m.exec(error.stack ?? '') : null
  return place === null ? '' : `${place[1]}: `
}

/** Node 20 reads a `.js` file as CommonJS unless its package says otherwise, and its error names only the token. */
function hintFor(error: Error): string {
  const isModule =
    error instanceof SyntaxError && /^(Unexpected token 'export'|Cannot use import)/.test(error.message)
  return isModule
    ? '; it looks like an ES module: name it .mjs, or set "type": "module" in its package.json'
    : ''
}

function isHandler(value: unknown): value is Handler<unknown, unknown> {
  return typeof value === 'function'
}

function refuse(file: string, message: string): InvalidOptionsError {
  return new InvalidOptionsError(`handler ${quote(file)}: ${message}`)
}
