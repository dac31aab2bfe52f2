-- What the totals above a bucket have to do with a job that waits, or is to come: src/core/total-place.ts.
-- of: family

do
  local IN = 1

  -- Whether the limit is a pace alone that is always the same.
  function family.is_steady(limited)
    local parts = usage.of(limited)
    return limited.warmUp == 0 and not (parts and parts.isBinding)
  end

  -- When the pace of the total lets a job go that has `ahead` units before it in its child; `counted`: its cost, if it waits already;
  -- `is_handed`: what was not handed over comes behind it. And how many units of the family are before it, its weight and those of all that share.
  function family.place_under(total, child, ahead, counted, now, is_handed)
    local weight = family.weigh(child.weight)
    local weights = total.weights + (child.standing == IN and 0 or weight)
    local all = is_handed and total.handed or total.waiting - total.grantedCost
    ahead = math.max(0, math.min(all - counted, ahead * weights / weight))
    return slot_behind(total, ahead, now), ahead, weight, weights
  end

  -- The quota of the total that has room last for a job of this cost, if none has at `at`; see usage.hold_by.
  local function hold_of(total, cost, settings, at)
    local parts, use = usage.of(total)
    if not parts or #parts.quotas == 0 then return end
    local charges = usage.charges(parts, cost, settings)
    local room = usage.room_at(parts, use, charges, at)
    local index, units, needed, used = usage.hold_by(total, charges, at, room)
    if index >= 0 then return text(index), text(room), text(units), text(needed), text(used) end
  end

  -- One list for each total, the innermost first: path, pattern, limit, how many others share it, weight of the child, weights of all that
  -- share, units before the job, when it departs, end of the freeze, paused, whether no place is free, and of a quota that holds it: its
  -- place from 0 on, when it has room, units that come free then, units that the job needs, units that count.
  function family.places_above(bucket, cost, settings, ahead, counted, now, is_handed)
    local found, child = {}, bucket.member
    for index, total in ipairs(family.totals_of(bucket)) do
      local departs_at, before, weight, weights = family.place_under(total, child, ahead, counted, now, is_handed)
      local others = total.takers - (child.standing == IN and 1 or 0)
      found[index] = {
        total.key, total.pattern, usage.limit_text(total), text(others), text(weight), text(weights), text(before), text(departs_at),
        text(total.frozen), text(total.paused), usage.is_full(total, total.running + total.grants) and '1' or '0',
        hold_of(total, cost, settings, departs_at),
      }
      ahead, child = before, total
    end
    return found
  end

  -- How long the last of so many units of the bucket waits at most: `waitAtMost` of src/core/total.ts, behind all that was handed over
  -- already; -1: no bound is known. `own`: how long it would wait by the limit of its bucket alone.
  function family.wait_at_most(bucket, units, own, now)
    if not family.is_steady(bucket) then return -1 end
    local child, wait = bucket.member, own
    for _, total in ipairs(family.totals_of(bucket)) do
      if not family.is_steady(total) or total.paused == 1 or total.frozen > now or child.standing ~= IN then return -1 end
      units = total.weights * (units / child.weight + 3 * total.largest)
      wait = wait + next_slot(total, now) - now + (units + total.handed) * total.interval
      child = total
    end
    return wait
  end
end
