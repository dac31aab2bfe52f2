-- What a shard cannot know any more.

-- A loss counts along with a later one for so long.
local REMEMBERED = 86400000000

-- More than any limit admits.
local ANY_COST = 9007199254740992

-- The last starts, or that there was one, may be lost: in each bucket a job of up to this cost may have started just now.
local function note_loss(meta, now, cost)
  if math.abs(now - meta.lostAt) < REMEMBERED then cost = math.max(cost, meta.lostCost) end
  meta.lostAt, meta.lostCost = now, cost
  redis.call('HSET', K.meta, 'lostAt', now, 'lostCost', cost)
end
