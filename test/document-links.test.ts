import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './support/document-examples.ts'

const UNREAD = new Set(['node_modules', '.git', '.built', 'dist'])
const FENCED = /^```.*?^```/gms

/** Every document of the project, from its root. */
const documents = markdownBelow(ROOT)

/** Where paths in documents begin. */
const BASES = ['src', 'test']
/** The folders there, by which a path is known. */
const folders = BASES.flatMap((base) =>
  readdirSync(join(ROOT, base)).filter((name) => statSync(join(ROOT, base, name)).isDirectory()),
)

test.each(documents)('every link of %s leads somewhere', (document) => {
  expect(documents).toContain('README.md')
  expect(linksOf(document).filter((link) => !leadsSomewhere(document, link))).toEqual([])
})

test.each(documents.filter((document) => /^(?:src|docs)\//.test(document)))(
  'every path that %s names exists',
  (document) => {
    expect(pathsOf(read(document)).filter((path) => !isThere(path))).toEqual([])
  },
)

test('a link that leads nowhere is found, and a path that does not exist', () => {
  expect(leadsSomewhere('README.md', 'docs/api.md#defaults')).toBe(true)
  expect(leadsSomewhere('README.md', 'docs/api.md#no-such-heading')).toBe(false)
  expect(leadsSomewhere('README.md', 'docs/no-such-file.md')).toBe(false)
  expect(['core/bucket.ts', 'unit/http/access', 'core/'].filter((path) => !isThere(path))).toEqual([])
  expect(isThere('core/no-such-file.ts')).toBe(false)
  expect(pathsOf('see `core/no-such-file.ts` and core/bucket.ts, not `core` or `shop/42`')).toEqual([
    'core/no-such-file.ts',
    'core/bucket.ts',
  ])
})

function markdownBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return UNREAD.has(entry.name) ? [] : markdownBelow(path)
    return entry.name.endsWith('.md') ? [relative(ROOT, path)] : []
  })
}

function read(document: string): string {
  return readFileSync(join(ROOT, document), 'utf8')
}

/** Links to files and headings; not those to other sites. */
function linksOf(document: string): string[] {
  const links = [
    ...read(document)
      .replace(FENCED, '')
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, link]) => link!)
  return links.filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(document: string, link: string): boolean {
  const [path, anchor] = link.split('#')
  const target = path === '' ? document : relative(ROOT, resolve(ROOT, dirname(document), path!))
  if (!existsSync(join(ROOT, target))) return false
  return anchor === undefined || anchorsOf(target).includes(anchor)
}

/** The anchors of headings, as forges make them of the text. */
function anchorsOf(document: string): string[] {
  const headings =
    read(document)
      .replace(FENCED, '')
      .match(/^#+ .*$/gm) ?? []
  return headings.map((heading) =>
    heading
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Tests may be named without their ending. */
function isThere(path: string): boolean {
  return BASES.some((base) => ['', '.test.ts'].some((ending) => existsSync(join(ROOT, base, path + ending))))
}

/** What looks like a path below `src` or `test`: a file in plain text or in a picture, a file or folder in backticks. */
function pathsOf(text: string): string[] {
  const first = `(?:${folders.join('|')})`
  const inText = new RegExp(`(?<![\\w/.-])${first}/[\\w./-]*\\.(?:ts|tsx|lua|md)\\b`, 'g')
  const inBackticks = new RegExp(`(?<=\`)${first}/[\\w./-]*(?=\`)`, 'g')
  return [...new Set([...(text.match(inText) ?? []), ...(text.match(inBackticks) ?? [])])]
}
