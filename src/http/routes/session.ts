import { jsonContent } from '../operation.ts'
import type { Route, RouteContext } from '../route.ts'
import { sessionSchema } from '../view-schemas.ts'

export function sessionRoutes({ shaper, settings: { version } }: RouteContext): Route[] {
  return [
    {
      method: 'get',
      path: '/v1/session',
      scope: 'read',
      summary: 'Get the holder and the rights of the token, and facts about the service',
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
