import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { SECURITY_HEADERS } from './guards.ts'
import { PROBLEM_TYPE, PROBLEMS, type ProblemName, problemBody } from './problem.ts'

const BY_CODE: Readonly<Record<string, ProblemName>> = {
  HPE_HEADER_OVERFLOW: 'headers-too-large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
}

/** The whole answer to what never became a request, as text for its socket. What was sent is not repeated. */
export function answerToUnreadable(errorCode: string | undefined): string {
  const requestId = randomUUID()
  const problem = BY_CODE[errorCode ?? ''] ?? 'bad-request'
  const { status } = PROBLEMS[problem]
  const body = JSON.stringify(problemBody(problem, {}, requestId))
  const headers = {
    Connection: 'close',
    'Content-Type': PROBLEM_TYPE,
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    ...SECURITY_HEADERS,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`
}
