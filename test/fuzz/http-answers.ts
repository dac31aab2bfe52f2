import { ok } from 'node:assert/strict'

const CRLF2 = '\r\n\r\n'

/**
 * Checks all that came over one connection: whole HTTP answers, one after the other; none of a failed server, and those that
 * refuse say so in a problem. A stream of events may end anywhere.
 *
 * @throws what is no such answer
 */
export function checkAnswers(bytes: Buffer): void {
  let rest = bytes.toString('latin1')
  while (rest !== '') {
    const end = rest.indexOf(CRLF2)
    ok(end !== -1, `no whole head of an answer: ${rest.slice(0, 200)}`)
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const [, code] = /^HTTP\/1\.1 (\d{3}) [\x20-\x7e]*$/.exec(statusLine) ?? []
    ok(code !== undefined, `no status line: ${statusLine}`)
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':')
        ok(colon > 0, `no header: ${line}`)
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
      }),
    )
    const status = Number(code)
    ok(status < 500, `${statusLine}: ${rest.slice(end, end + 300)}`)
    if (headers.get('content-type')?.startsWith('text/event-stream')) return
    const { body, after } = splitBody(rest.slice(end + CRLF2.length), status, headers)
    // A body is left out where only the head was asked for.
    if (status >= 400 && body !== '') checkProblem(body, status, headers)
    rest = after
  }
}

function splitBody(
  text: string,
  status: number,
  headers: ReadonlyMap<string, string>,
): { readonly body: string; readonly after: string } {
  const hasNone =
    status < 200 || status === 204 || status === 304 || text === '' || text.startsWith('HTTP/1.1 ')
  if (hasNone) return { body: '', after: text }
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(text)
  const length = Number(headers.get('content-length'))
  ok(
    Number.isInteger(length) && text.length >= length,
    `a body of ${text.length} bytes, announced: ${headers.get('content-length')}`,
  )
  return { body: text.slice(0, length), after: text.slice(length) }
}

function readChunks(text: string): { readonly body: string; readonly after: string } {
  let [body, at] = ['', 0]
  for (;;) {
    const line = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, line), 16)
    ok(line !== -1 && size >= 0, `no chunk: ${text.slice(at, at + 50)}`)
    body += text.slice(line + 2, line + 2 + size)
    at = line + 2 + size + 2
    if (size === 0) return { body, after: text.slice(at) }
  }
}

function checkProblem(body: string, status: number, headers: ReadonlyMap<string, string>): void {
  ok(
    headers.get('content-type') === 'application/problem+json',
    `${status} with ${headers.get('content-type')}`,
  )
  const problem: unknown = JSON.parse(Buffer.from(body, 'latin1').toString())
  ok(
    typeof problem === 'object' && problem !== null && 'status' in problem && problem.status === status,
    body,
  )
}
