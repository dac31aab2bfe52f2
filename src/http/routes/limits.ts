import { z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { quote } from '../../core/describe.ts'
import { isVelvetRopeError } from '../../core/errors.ts'
import { checkKey } from '../../core/key.ts'
import { readRequest } from '../body.ts'
import { removalQuerySchema, removeVariant, settingQuerySchema, setVariant } from '../limit-variants.ts'
import { jsonContent, textHeader } from '../operation.ts'
import { invalid, Problem } from '../problem.ts'
import { readQuery } from '../query.ts'
import { newLimitSchema } from '../request-schemas.ts'
import { isWithin } from '../rights.ts'
import { assertRoomToAct } from '../room.ts'
import type { HttpEnv, ParameterObject, Route, RouteContext } from '../route.ts'
import { localRuleSchema, previewSchema, ruleBookSchema, ruleSchema } from '../rule-schemas.ts'

const ETAG = { ETag: textHeader('The version of the rule book, for `If-Match`.') }

export function limitRoutes(api: RouteContext): Route[] {
  const { shaper, turns } = api
  const { limits } = shaper
  const { maxRules: atMost } = api.settings
  return [
    {
      method: 'get',
      path: '/v1/limits',
      scope: 'read',
      summary:
        'Get the rule book: every rule with its origin, who set it and when; and the limits of this process alone',
      answers: {
        200: {
          description: 'The rules.',
          headers: ETAG,
          ...jsonContent(ruleBookSchema),
        },
      },
      problems: [],
      answer: ({ context, principal }) => {
        const { version } = limits
        const isSeen = ({ pattern }: { readonly pattern: string }) => isWithin(principal.prefixes, pattern)
        const book = {
          version,
          limits: limits.list().filter(isSeen),
          unset: limits.unsetByHand().filter(isSeen),
          local: limits.locals().filter(isSeen),
        }
        return context.json(book, 200, { ETag: etagOf(version) })
      },
    },
    {
      method: 'get',
      path: '/v1/limits/{pattern}',
      scope: 'read',
      summary: 'Get the rule of a pattern',
      answers: { 200: { description: 'The rule.', headers: ETAG, ...jsonContent(ruleSchema) } },
      problems: ['not-found'],
      answer: ({ context, subject }) => {
        const { version } = limits
        const rule = limits.get(subject)
        if (rule === undefined) throw noRule(subject)
        return context.json(rule, 200, { ETag: etagOf(version) })
      },
    },
    {
      method: 'put',
      path: '/v1/limits/{pattern}',
      scope: 'admin',
      summary:
        'Set a limit by hand, which applies to waiting jobs as well; or preview it; or limit this process alone',
      request: {
        query: settingQuerySchema,
        body: { required: true, ...jsonContent(newLimitSchema) },
      },
      parameters: [IF_MATCH],
      answers: {
        200: {
          description: 'The rule; with dryRun=true its preview; with scope=local the rule of this process.',
          ...jsonContent(z.union([ruleSchema, previewSchema, localRuleSchema])),
        },
      },
      problems: ['too-many-rules', 'memory-share', 'rule-book-changed'],
      answer: async (call) => {
        const { context, principal, subject } = call
        checkKey(subject, 'pattern')
        const ifVersion = readIfMatch(context)
        const { limit } = await readRequest(api, call, newLimitSchema)
        // It spaces the lines of all its keys anew, at once.
        await turns.next(principal.name)
        try {
          const variant = await setVariant(api, call, limit, ifVersion)
          if (variant !== undefined) return variant
          // A new limit for a pattern that has one takes no more memory.
          if (limits.get(subject) === undefined) await assertRoomToAct(api, call)
          return context.json(await limits.set(subject, limit, { by: principal.name, ifVersion, atMost }))
        } catch (error) {
          throw isVelvetRopeError(error, 'invalid-limit')
            ? invalid([{ detail: error.message, pointer: '#/limit' }])
            : error
        }
      },
    },
    {
      method: 'delete',
      path: '/v1/limits/{pattern}',
      scope: 'admin',
      summary:
        'Remove the limit of a pattern, even if code or file set it; with override=only, restore what they set',
      request: { query: removalQuerySchema },
      parameters: [IF_MATCH],
      answers: {
        200: {
          description: 'With dryRun=true: a preview of the removal.',
          ...jsonContent(previewSchema),
        },
        204: { description: 'Removed.' },
      },
      problems: ['not-found', 'too-many-rules', 'rule-book-changed'],
      answer: async (call) => {
        const { context, principal, subject } = call
        const ifVersion = readIfMatch(context)
        await turns.next(principal.name)
        const variant = await removeVariant(api, call, ifVersion)
        if (variant !== undefined) return variant
        const { override } = readQuery(context.req.url, removalQuerySchema, [])
        const isGone =
          override === 'only'
            ? await limits.reset(subject, { ifVersion })
            : await limits.unset(subject, { by: principal.name, ifVersion, atMost })
        if (isGone) return context.body(null, 204)
        throw override === 'only' ? notByHand(subject) : noRule(subject)
      },
    },
  ]
}

function noRule(pattern: string): Problem {
  return new Problem('not-found', { detail: `no rule has the pattern ${quote(pattern)}` })
}

function notByHand(pattern: string): Problem {
  return new Problem('not-found', { detail: `nothing was set by hand for the pattern ${quote(pattern)}` })
}

/** The entity tag of a version of the rule book, for `ETag` and `If-Match` (RFC 9110). */
export function etagOf(version: number): string {
  return `"${version}"`
}

export const IF_MATCH: ParameterObject = {
  name: 'If-Match',
  in: 'header',
  required: false,
  description:
    'The ETag of the rule book that the change is meant for, such as `"7"`. With `*`, or without the header, the version is not checked.',
  schema: { type: 'string', maxLength: 64 },
}

/**
 * The version that a change is meant for; undefined if it is not checked. A proxy that compresses turns the tag into a weak one, which
 * stands for the same version.
 *
 * @throws Problem 400
 */
export function readIfMatch({ req }: Context<HttpEnv>): number | undefined {
  const header = req.header('If-Match')
  if (header === undefined || header.trim() === '*') return undefined
  const [, digits] = /^\s*(?:W\/)?"(\d{1,15})"\s*$/.exec(header) ?? []
  if (digits !== undefined) return Number(digits)
  throw new Problem('bad-request', {
    detail: 'expected If-Match to be the ETag of the rule book, such as "7", or *',
  })
}
