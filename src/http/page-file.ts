import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import type { HttpEnv } from './route.ts'

/** A file that a browser loads. */
export interface PageFile {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
  /** As the header has it, in quotes. */
  readonly etag: string
}

/** A page and what it loads, by path in the URL: `/` is the page itself, and what is below `/assets/` never changes. */
export type PageFiles = ReadonlyMap<string, PageFile>

/** It runs its own scripts alone, and speaks to its own service alone: text in it can do nothing but be read. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** Whether this is somebody with a browser; a program that says nothing, or anything, wants data. */
export function prefersPage(context: Context<HttpEnv>): boolean {
  const [page, data] = ['text/html', 'application/json']
  return accepts(context, { header: 'Accept', supports: [page, data], default: data }) === page
}

/** The page: asked for anew each time, and sent only when it is another. */
export function answerPage(context: Context<HttpEnv>, file: PageFile): Response {
  return answerFile(context, file, {
    'Content-Security-Policy': PAGE_POLICY,
    'Cache-Control': 'no-cache',
    Vary: 'Accept',
  })
}

/** A file whose name changes with what is in it. */
export function answerAsset(context: Context<HttpEnv>, file: PageFile): Response {
  return answerFile(context, file, { 'Cache-Control': 'public, max-age=31536000, immutable' })
}

/** A file that keeps its name, such as an icon. */
export function answerNamedFile(context: Context<HttpEnv>, file: PageFile): Response {
  return answerFile(context, file, { 'Cache-Control': 'no-cache' })
}

function answerFile(
  { req }: Context<HttpEnv>,
  { body, contentType, etag }: PageFile,
  caching: Readonly<Record<string, string>>,
): Response {
  const headers = { ETag: etag, ...caching }
  if (isKnown(req.header('If-None-Match'), etag)) return new Response(null, { status: 304, headers })
  const length = String(body.byteLength)
  return new Response(body, {
    headers: { ...headers, 'Content-Type': contentType, 'Content-Length': length },
  })
}

/** Whether a client has it already; compared weakly, as RFC 9110 (13.1.2) says. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
