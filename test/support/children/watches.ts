import { once } from 'node:events'
import { mkdtempSync, rmSync, watch as watchFolder, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadConfig } from '../../../src/config/load-config.ts'
import { watchConfig } from '../../../src/config/watch-config.ts'

const cwd = mkdtempSync(join(tmpdir(), 'velvet-rope-watches-'))
process.once('exit', () => rmSync(cwd, { recursive: true }))
const file = join(cwd, 'velvet-rope.yaml')
writeFileSync(file, 'name: a\n')

const sources = { cwd, env: {} }
const current = await loadConfig(sources)
const watch = watchConfig({ ...sources, current, onChange() {}, onError() {}, debounceMs: 600_000 })
await watch.reload()
const events = watchFolder(cwd)
writeFileSync(file, 'name: b')
await once(events, 'change')
setImmediate(() => events.close())
console.log('watching')
