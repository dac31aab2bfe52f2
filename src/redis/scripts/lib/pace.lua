-- The algorithm of src/core/bucket.ts; its `startedBy` is `start` in grant.lua.

-- A worker does not wait for a slot further away.
local FARTHEST_SLOT = 250000

-- The distance between the last start and the next one, before the tolerance.
local function spacing_after_start(bucket)
  return spacing(bucket, bucket.startedWarmth, bucket.startedCost)
end

-- The latest that `next` can be; a later one is from before the clock was set back.
local function farthest_next(bucket, now)
  local after_slot = spacing(bucket, bucket.lastWarmth, bucket.lastCost)
  return now + 2 * FARTHEST_SLOT + math.max(after_slot, spacing_after_start(bucket))
end

-- A slot that is further away than any can be is from before the clock was set back. No caller is to wait for it.
local function forget_old_time(bucket, now)
  local soon = now + 2 * FARTHEST_SLOT
  bucket.grantedSlot = math.min(bucket.grantedSlot, soon)
  if bucket.next <= soon then return end
  -- After a loss, a bucket waits for the interval of the costliest job.
  local farthest = math.max(farthest_next(bucket, now), soon + spacing(bucket, 0, bucket.capacity))
  if bucket.next > farthest then bucket.next, bucket.carry = farthest, 0 end
end

local function next_slot(bucket, now)
  return math.max(now, bucket.next, bucket.frozen)
end

-- When the empty bucket's state no longer affects a departure.
local function forgettable_at(bucket)
  local by_pace = math.max(bucket.next + bucket.warmth, bucket.frozen)
  return usage.of(bucket) and math.max(by_pace, usage.forgettable_at(bucket)) or by_pace
end

local function warmth_at(bucket, slot)
  return cooled_by(bucket.warmth, slot - bucket.next)
end

local function projection_of(bucket, now)
  local slot = next_slot(bucket, now)
  return { slot = slot, warmth = warmth_at(bucket, slot) }
end

-- No departures before that time; meanwhile the bucket cools.
local function postpone(bucket, until_)
  bucket.warmth = warmth_at(bucket, until_)
  bucket.next, bucket.carry = until_, 0
end

local function set_next(bucket, slot, carry)
  local wait = spacing(bucket, bucket.lastWarmth, bucket.lastCost)
  local step = wait + carry
  bucket.next = slot + step
  bucket.carry = step - (bucket.next - slot)
  bucket.warmth = warmed_by(bucket, bucket.lastWarmth, wait)
end

local function reserve(bucket, cost, now)
  local slot = next_slot(bucket, now)
  bucket.lastCost = cost
  bucket.lastWarmth = warmth_at(bucket, slot)
  set_next(bucket, slot, slot == bucket.next and bucket.carry or 0)
  return slot
end

-- Gives back the last slot. It is always the last that is given back: no other is granted before a granted job has started. The
-- limit may have been lowered since it was granted.
local function unreserve(bucket)
  if bucket.member then family.unreserve(bucket) end
  if usage.of(bucket) then usage.charge_slot(bucket, -1) end
  bucket.next = math.max(bucket.grantedSlot, bucket.lastStart - bucket.tolerance + spacing_after_start(bucket))
  bucket.carry = 0
  bucket.lastCost = 0
  bucket.warmth = math.min(bucket.warmth, bucket.lastWarmth)
end

-- Lateness within the tolerance keeps the slot on the grid; a job that found the bucket idle has no slot to keep.
local function reserve_due(bucket, cost, due, now)
  local on_grid = due <= math.max(bucket.next, bucket.frozen) and now - due <= bucket.tolerance
  return reserve(bucket, cost, on_grid and due or now), on_grid
end

local function depart(bucket, cost, at)
  bucket.waiting = bucket.waiting - cost
  bucket.lastStart = at
  bucket.startedCost = cost
  bucket.startedWarmth = bucket.lastWarmth
end

-- The third party asked for a pause, so the bucket is cold afterwards.
local function freeze(bucket, until_)
  bucket.frozen = math.max(bucket.frozen, until_)
  bucket.warmth = 0
end

-- The next departure is counted from the last slot, or from the last start where that was later than the new tolerance allows.
local function change_limit(bucket, rule, now)
  bucket.book = rule.book
  local has_moved = rule.chain ~= (bucket.member and bucket.member.chain or '')
  if has_moved then family.move(bucket, rule.chain, rule.book, now) end
  if bucket.pattern == rule.pattern and usage.rule_of(bucket.limit) == rule.limit then return has_moved end
  local before = spacing(bucket, bucket.lastWarmth, bucket.lastCost)
  bucket.pattern = rule.pattern
  usage.change_limit(bucket, rule.limit, now)
  bucket.capacity, bucket.interval, bucket.tolerance = rule.capacity, rule.interval, rule.tolerance
  bucket.warmUp, bucket.coldInterval = rule.warmUp, rule.coldInterval
  bucket.lastWarmth = math.min(bucket.lastWarmth, rule.warmUp)
  bucket.startedWarmth = math.min(bucket.startedWarmth, rule.warmUp)
  local wait = spacing(bucket, bucket.lastWarmth, bucket.lastCost)
  bucket.warmth = math.min(bucket.warmth, warmed_by(bucket, bucket.lastWarmth, wait))
  local from_slot = bucket.next + (wait - before)
  bucket.next = math.max(from_slot, bucket.lastStart - bucket.tolerance + spacing_after_start(bucket))
  bucket.carry = 0
  return true
end
