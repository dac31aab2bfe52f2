import { Problem } from './problem.ts'

/** The path of a request as it was sent; decoding would hide the difference between `/` and `%2F`. */
export function rawPath(url: string): string {
  const [, path = '/'] = /^[a-z]+:\/\/[^/?#]*(\/[^?#]*)/i.exec(url) ?? []
  return path
}

/** A path of the API: `/v1/buckets/{key}/jobs` has the base `/v1/buckets/` and the verb `jobs`. */
export function splitPattern(path: string): { readonly base: string; readonly verb: string | undefined } {
  const [, base = path, verb] = /^(.*\/)\{[^}]+\}(?:\/(.+))?$/.exec(path) ?? []
  return { base, verb }
}

/**
 * Splits what follows a base: a subject, which may hold raw slashes, and perhaps a verb as the last segment. `GET
 * /v1/buckets/a/b/forecast` asks for the forecast of `a/b`; for the bucket `a/b/forecast` itself, write its last slash as
 * `%2F`. Clients resolve the segments `.` and `..` before they send a path; with slashes as `%2F` they arrive, and are
 * refused in keys.
 */
export function splitRest(rest: string, verbs: readonly string[]) {
  const slash = rest.lastIndexOf('/')
  const last = slash === -1 ? undefined : rest.slice(slash + 1)
  return last !== undefined && verbs.includes(last)
    ? { subject: decode(rest.slice(0, slash)), verb: last }
    : { subject: decode(rest), verb: undefined }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Problem('bad-request', { detail: 'expected the path to be percent-encoded UTF-8' })
  }
}
