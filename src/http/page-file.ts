import type { Context } from 'hono'
import { accepts } from 'hono/accepts'
import type { HttpEnv } from './route.ts'

/** A file of the page. */
export interface PageFile {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
  /** The value of the header, in quotes. */
  readonly etag: string
}

/** The files of the page, by URL path: `/` is the page itself, and files below `/assets/` never change. */
export type PageFiles = ReadonlyMap<string, PageFile>

/** Allows only the page's own scripts and requests to its own service, so that text in it cannot become code. */
const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

/** Whether the request prefers HTML; a client without a preference gets JSON. */
export function prefersHtml(context: Context<HttpEnv>): boolean {
  const [page, data] = ['text/html', 'application/json']
  return accepts(context, { header: 'Accept', supports: [page, data], default: data }) === page
}

/** Answers the page; browsers revalidate it each time and load it only when it has changed. */
export function answerPage(context: Context<HttpEnv>, file: PageFile): Response {
  return answerFile(context, file, {
    'Content-Security-Policy': PAGE_POLICY,
    'Cache-Control': 'no-cache',
    Vary: 'Accept',
  })
}

/** Answers a file whose name changes with its content. */
export function answerAsset(context: Context<HttpEnv>, file: PageFile): Response {
  return answerFile(context, file, { 'Cache-Control': 'public, max-age=31536000, immutable' })
}

/** Answers a file with a fixed name, such as an icon. */
export function answerNamedFile(context: Context<HttpEnv>, file: PageFile): Response {
  return answerFile(context, file, { 'Cache-Control': 'no-cache' })
}

function answerFile(
  { req }: Context<HttpEnv>,
  { body, contentType, etag }: PageFile,
  caching: Readonly<Record<string, string>>,
): Response {
  const headers = { ETag: etag, ...caching }
  if (hasCurrentVersion(req.header('If-None-Match'), etag))
    return new Response(null, { status: 304, headers })
  const length = String(body.byteLength)
  return new Response(body, {
    headers: { ...headers, 'Content-Type': contentType, 'Content-Length': length },
  })
}

/** Whether the client already has this version; compared weakly, as RFC 9110 (13.1.2) says. */
function hasCurrentVersion(ifNoneMatch: string | undefined, etag: string): boolean {
  const known = ifNoneMatch?.split(',').map((tag) => tag.trim().replace(/^W\//, '')) ?? []
  return known.includes(etag) || known.includes('*')
}
