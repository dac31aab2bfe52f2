#!lua flags=no-writes
-- The views of some totals: of as many as may be read in one call.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace blocks next due line sums waiting counted member summed chain total overdue share standing places
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', path, ... (1 to 100)
-- Answers  { now, how many of the paths were read, view, ... }, without those that are unknown or foreign; one alone must be ours. A view
--          is { path, pattern, limit, path of the total above | '', capacity, waiting, running, children, next departure, the same by this
--          total alone, when a job below it is ready (inf: none is known), end of the freeze, paused, parts }, with the parts as those of
--          a bucket: see parts_of in lib/view.lua

-- What counts as the reads of one total: its places, and the jobs that are first in it and in those below it.
local READS, MOST_READS = 12, 600

expect_arguments(2)
local now = read_now(ARGV[1])

-- When a job below it may go as far as the limits of its own are concerned.
local function ready_at(total)
  if total.inHanded > 0 or redis.call('ZCARD', K.ready .. total.n) > 0 then return now end
  local later = redis.call('ZRANGE', K.later .. total.n, 0, 0, 'WITHSCORES')[2]
  return later and math.max(now, tonumber(later)) or INF
end

-- When the next job below it departs, when its pace lets it, and what that counts in the quotas.
local function departure_below(total, ready)
  if total.grants > 0 then return math.max(now, total.grantedSlot) end
  if total.paused == 1 or ready == INF or usage.is_full(total, total.running) then return INF end
  local slot = next_slot(total, ready)
  local parts, use = usage.of(total)
  local head = parts and #parts.quotas > 0 and family.head_below(total, slot)
  if not head then return slot end
  local _, charges = family.use_of(total, parse_member(head))
  return usage.room_at(parts, use, charges, slot), slot, charges
end

-- The same, where those above it let it go.
local function departure_under(total, at)
  local path = total.parent
  while path ~= '' do
    -- One that is missing begins anew with the next call that writes.
    local above = family.total(path)
    if not above then return at end
    at = above.paused == 1 and INF or math.max(at, next_slot(above, now))
    path = above.parent
  end
  return at
end

local function parts_below(total, slot, charges, at)
  local parts, use = usage.of(total)
  if not parts or not parts.isBinding then return nil end
  local held_by, units, needed, used = usage.hold_by(total, charges, slot, at)
  return quota.add_views({ total.running + total.grants, held_by, text(units), text(needed), text(used) }, parts, use, now)
end

local function view_below(total)
  local ready = total.grants > 0 and now or ready_at(total)
  local at, slot, charges = departure_below(total, ready)
  return {
    total.key, total.pattern, usage.limit_text(total), total.parent, text(total.capacity), text(total.waiting), text(total.running),
    text(total.children), text(total.grants > 0 and at or departure_under(total, at)), text(at), text(ready), text(total.frozen),
    text(total.paused), parts_below(total, slot, charges, at),
  }
end

local answer, looked = { text(now), 0 }, 0
local function look(path)
  local total = family.total(path)
  if total then answer[#answer + 1] = view_below(total) end
  return total
end

if #ARGV == 2 then
  looked = 1
  if not look(ARGV[2]) then expect_whole(read_meta()) end
else
  for at = 2, #ARGV do
    if looked * READS + usage.work >= MOST_READS then break end
    looked = looked + 1
    pcall(look, ARGV[at])
  end
end
answer[2] = looked
return answer
