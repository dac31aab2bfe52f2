-- Starting jobs that were granted a slot.

-- When a job was started, by its worker's report. The worker may not know that the clock was moved: a start in the future, or
-- before the last move, counts as now.
local function started_by(meta, at, now)
  return (at > now + FARTHEST_SLOT or at < moved_at(meta)) and now or at
end

-- By how much the clocks of two workers may differ: a worker waits for no more of its error than that leaves.
local function clock_error(bucket)
  return math.min(500, bucket.tolerance / 4)
end

-- When a start at `at` counts in quotas, which have no tolerance: it may have been later, and one that waits for it may be earlier.
function usage.counted_at(bucket, at)
  return at + clock_error(bucket)
end

-- granted -> running at the time `at`. Until then no other job of the bucket can have got a slot, so a start that was
-- later than the tolerance, or had no slot on the grid, moves the grid: it continues from that start. The caller writes bucket
-- and state.
local function start(bucket, state, at)
  if bucket.granted ~= state.id then usage.take_slot(bucket, state, at) end
  -- The clocks of worker and Redis agree to a fraction of a millisecond, which is subtracted.
  local tolerated = bucket.tolerance - clock_error(bucket)
  -- A slot further ahead was granted before the clock was set back.
  local slot = math.min(state.slot, at + FARTHEST_SLOT)
  if not state.onGrid or at - slot > tolerated then
    local moved, was_chilled = math.max(at, slot), bucket.warmth == 0
    bucket.lastCost = state.cost
    bucket.lastWarmth = cooled_by(bucket.lastWarmth, moved - slot)
    set_next(bucket, moved, 0)
    -- The bucket was frozen after the slot was granted.
    if was_chilled then bucket.warmth = 0 end
  end
  state.charged = usage.of(bucket) and usage.move_to(bucket, usage.counted_at(bucket, at)) or ''
  if bucket.member then family.start(bucket, state, at) end
  redis.call('LREM', K.handed .. bucket.suffix, 1, member_of(state))
  bucket.inHanded = bucket.inHanded - 1
  bucket.granted, bucket.grantedSlot, bucket.grantedCost = '', 0, 0
  depart(bucket, state.cost, at)
  bucket.running = bucket.running + 1
  state.state, state.departedAt = 'running', at
end
