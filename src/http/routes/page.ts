import { z } from '@hono/zod-openapi'
import { ETAG, NOT_MODIFIED } from '../operation.ts'
import { answerAsset, answerNamedFile } from '../page-file.ts'
import { Problem } from '../problem.ts'
import type { Route, RouteContext } from '../route.ts'

const ASSETS = '/assets/'

/**
 * The files that the page loads; the page itself is at `/`. They need no token: they hold no data, and the page gets
 * what it shows from the API.
 */
export function pageRoutes({ settings: { dashboard } }: RouteContext): Route[] {
  if (dashboard === undefined) return []
  const named = [...dashboard].filter(([path]) => path !== '/' && !path.startsWith(ASSETS))
  return [
    {
      method: 'get',
      path: `${ASSETS}{file}`,
      isExempt: true,
      summary: 'A file of the dashboard',
      answers: {
        200: { description: 'The file.', headers: ETAG, content: { '*/*': { schema: z.string() } } },
        304: NOT_MODIFIED,
      },
      problems: [],
      answer: ({ context, subject }) => {
        const file = dashboard.get(`${ASSETS}${subject}`)
        if (file === undefined) throw new Problem('not-found')
        return answerAsset(context, file)
      },
    },
    ...named.map(
      ([path, file]): Route => ({
        method: 'get',
        path,
        isExempt: true,
        summary: 'A file of the dashboard',
        answers: {
          200: {
            description: 'The file.',
            headers: ETAG,
            content: { [file.contentType]: { schema: z.string() } },
          },
          304: NOT_MODIFIED,
        },
        problems: [],
        answer: ({ context }) => answerNamedFile(context, file),
      }),
    ),
  ]
}
