import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PageFile, PageFiles } from '../http/page-file.ts'

/** The folder of the build: beside the compiled sources in the package, in `dist` when the sources run directly. */
const BUILD = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/dashboard/' : '../../dashboard/',
  import.meta.url,
)
const PAGE = 'index.html'

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/**
 * Reads the built dashboard into memory, for the option `dashboard` of `createHttpApp`. Only these files are ever
 * served, and none is read again. Returns undefined where it was not built, such as in a checkout before
 * `npm run build:dashboard`.
 *
 * @param folder the folder of the build. Default: that of this package
 */
export function openDashboard(folder: string = fileURLToPath(BUILD)): PageFiles | undefined {
  const files = new Map([...filesIn(folder, '/'), ...filesIn(join(folder, 'assets'), '/assets/')])
  const page = files.get(`/${PAGE}`)
  if (page === undefined) return undefined
  files.delete(`/${PAGE}`)
  return files.set('/', page)
}

/** The files directly in the folder with a type for browsers; none if the folder does not exist. */
function filesIn(folder: string, path: string): [string, PageFile][] {
  return namesIn(folder).flatMap((name) => {
    const contentType = CONTENT_TYPES[extname(name)]
    if (contentType === undefined) return []
    const body = new Uint8Array(readFileSync(join(folder, name)))
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`
    return [[`${path}${name}`, { contentType, body, etag }]]
  })
}

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
