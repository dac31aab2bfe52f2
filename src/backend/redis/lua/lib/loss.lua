-- What a shard cannot know any more: the last starts, or when they were by the clock of now.

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

-- Processes see the same step within this time.
local SAME_STEP = 10000000

-- The clock was set forward by up to `by`: what started before was so much less long ago than it looks.
local function note_step(meta, now, by)
  local since = math.abs(now - meta.stepAt)
  if since > REMEMBERED then meta.stepBy = 0 end
  meta.stepBy = since < SAME_STEP and math.max(meta.stepBy, by) or meta.stepBy + by
  meta.stepAt = now
  redis.call('HSET', K.meta, 'stepAt', now, 'stepBy', meta.stepBy)
end
