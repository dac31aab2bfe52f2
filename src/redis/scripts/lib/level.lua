-- What quota.lua asks for: a meter counts by the clock that is shown.
local forward = {}
function forward.by() return 0 end
function forward.present(at) return at end

-- Leaks what has leaked since, then adds the amount, or as much of it as fits, or nothing: `fillWhere` of src/core/meter.ts,
-- operation by operation.
--
-- Returns whether all of it went in, the level after it (level, at, blocked_until, kept), whether that is another one than before, and
-- whether the one before is over: empty and not blocked.
local function fill_level(is_allowed, now, amount, capacity, interval, clamp, block, level, at, blocked_until, kept)
  local changes, is_over = false, false

  -- A level that is empty and not blocked counts as none. Else it is corrected where the clock was set back.
  local ahead = level and at - now
  if level and ahead > LONGEST_STEP_BACK then
    at, blocked_until, changes = now, math.max(0, blocked_until - ahead), true
  elseif not level or math.max(at + level * kept, blocked_until) + 1 <= now then
    is_over = level ~= nil
    level, at, blocked_until, kept = 0, 0, 0, 0
  end

  local left_over = math.max(0, level - math.max(0, now - at) / math.max(kept, interval))
  local filled = amount == 0 and left_over or math.max(left_over + amount, left_over * LEAST_GROWTH)
  local is_blocked = blocked_until > now
  local has_space = not is_blocked and filled <= capacity * (1 + ROUNDING)
  local fits = has_space and is_allowed
  local to_the_brim = clamp and not has_space
  if fits and amount ~= 0 then
    level, at, changes = filled, math.max(at, now), true
  elseif not fits and not is_blocked and (to_the_brim or block ~= 0) then
    level, at, changes = to_the_brim and math.max(left_over, capacity) or left_over, math.max(at, now), true
    if block > 0 then blocked_until = now + block end
  elseif kept ~= 0 and kept ~= interval then
    level, at, changes = left_over, math.max(at, now), true
  end
  if changes then kept = interval end
  return fits, level, at, blocked_until, kept, changes, is_over
end
