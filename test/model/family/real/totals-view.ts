import type { Redis } from 'ioredis'
import { withLibraries } from '../../../../src/redis/scripts/script.ts'
import { ALL_AS_TEXTS, LIBRARIES, type Texts } from '../../real/view.ts'

/** What the store holds of totals, and where their children stand, read with the store's own functions. */
const SCRIPT = withLibraries(
  '#!lua flags=no-writes',
  LIBRARIES,
  `${ALL_AS_TEXTS}
  read_meta()
  local totals = {}
  for _, path in ipairs(ARGV) do
    local total = family.total(path)
    if total then
      local function standing(set)
        local found = redis.call('ZRANGE', K[set] .. total.n, 0, -1, 'WITHSCORES')
        local scores = {}
        for index = 1, #found, 2 do scores[found[index]] = found[index + 1] end
        return scores
      end
      total.later, total.ready = standing('later'), standing('ready')
      total.due = tonumber(redis.call('ZSCORE', K.due, path) or INF)
      total.idleAt = tonumber(redis.call('ZSCORE', K.idle, path) or INF)
      total.moves, total.handedUse = nil, nil
      totals[path] = all(total)
    end
  end
  return cjson.encode(totals)`,
)

export type TotalView = Texts & Readonly<Record<'later' | 'ready', Texts>>

export async function totalsView(
  redis: Redis,
  tag: string,
  paths: readonly string[],
): Promise<Readonly<Record<string, TotalView>>> {
  return JSON.parse(String(await redis.eval(SCRIPT, 1, tag, ...paths)))
}
