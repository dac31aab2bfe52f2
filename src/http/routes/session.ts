import { jsonContent } from '../operation.ts'
import type { House, Route } from '../route.ts'
import { sessionSchema } from '../view-schemas.ts'

export function sessionRoutes({ shaper, settings: { version } }: House): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/session',
      scope: 'read',
      summary: 'Who asks, what that token may do, and what answers',
      answers: { 200: { description: 'The session.', ...jsonContent(sessionSchema) } },
      problems: [],
      answer: ({ context, principal: { name, scopes, prefixes } }) => {
        const { backend, durability } = shaper
        const line = {
          backend,
          shaper: shaper.name,
          version,
          ...(durability !== undefined && { durability }),
        }
        return context.json({ name, scopes, prefixes, ...line })
      },
    },
  ]
}
