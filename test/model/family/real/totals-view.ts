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
  for index = 2, #ARGV do
    local path = ARGV[index]
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
      local parts, use = usage.of(total)
      total.quotas, total.handedUnits = {}, total.handed > 0 and total.handedUse[1] or 0
      for index, one in ipairs(use or {}) do
        local entries = {}
        for entry, end_ in ipairs(one.ends) do
          if end_ > tonumber(ARGV[1]) then entries[#entries + 1] = string.format('%d %d', end_, one.used[entry]) end
        end
        total.quotas[index] = table.concat(entries, ' ')
      end
      total.moves, total.handedUse, total.use, total.parts = nil, nil, nil, nil
      totals[path] = all(total)
    end
  end
  return cjson.encode(totals)`,
)

/** Of each quota, its entries: when each ends, and how much it counts. */
export type TotalView = Texts & Readonly<Record<'later' | 'ready' | 'quotas', Texts>>

export async function totalsView(
  redis: Redis,
  tag: string,
  paths: readonly string[],
  now: number,
): Promise<Readonly<Record<string, TotalView>>> {
  return JSON.parse(String(await redis.eval(SCRIPT, 1, tag, now, ...paths)))
}
