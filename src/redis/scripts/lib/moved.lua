-- Which starts surely stand in a quota where they were counted, so that a settlement may take back there what they were charged. Of
-- others it would take what a later start was charged, which then would count less than it did.
-- of: usage

-- From now on, no start of before stands surely where it was counted. By fences, since a clock may be set back.
function usage.note_moved(use)
  use.moved = counter(redis.call('HGET', K.meta, 'fence'))
end

-- Starts of before may not have counted in the total; what slots were charged there stands. `at`: when the last of them was, at least.
function usage.note_uncounted(total, at)
  local parts, use = usage.of(total)
  local until_ = math.max(at, time_read + set_back())
  if not parts or #parts.counted == 0 or use.changedAt >= until_ then return end
  use.changedAt, total.isUseChanged = until_, true
end

-- Whether the start of that fence stands where it was counted.
function usage.stands(use, fence)
  return not use.moved or fence > use.moved
end

-- What counts in a quota whose window has changed: a start may count later in it, or not, where a shorter window had forgotten it.
function usage.carried(before, use, after, now)
  local carried = quota.carry_over(before, use, after, now)
  usage.note_moved(carried)
  return carried
end

-- Lets nothing count for longer than a start that is reserved now, or is lost: the clock may have been set back. A slot that was
-- granted before moves along, as what counts for it does.
function usage.clamp(bucket, now)
  local parts, use = usage.of(bucket)
  bucket.grantedSlot = math.min(bucket.grantedSlot, now + quota.FARTHEST_AHEAD)
  for index, part in ipairs(parts and parts.counted or {}) do
    if quota.clamp(part, use[index], usage.latest(now)) then
      usage.note_moved(use[index])
      bucket.isUseChanged = true
    end
  end
end
