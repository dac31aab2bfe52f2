import { readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { defineScript, type Script } from '../../../src/redis/scripts/script.ts'

const SRC = fileURLToPath(new URL('../../../src/', import.meta.url))

/** Every Lua script of the sources by its verb, with the text that Redis gets. Parts that scripts share are none. */
export function allScripts(): ReadonlyMap<string, Script> {
  const scripts = new Map<string, Script>()
  for (const path of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.lua') || basename(dirname(path)) === 'lib') continue
    const verb = basename(path, '.lua')
    // The module beside it, whatever its name.
    const module = pathToFileURL(join(SRC, dirname(path), 'any.ts')).href
    scripts.set(
      verb,
      defineScript(verb, module, () => undefined),
    )
  }
  return scripts
}
