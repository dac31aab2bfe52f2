-- What was handed over below a total so long ago that all of it could have started. Its worker may have died, or has no handler for it. The
-- gate keeps the limits whatever is handed over, so until it starts or comes back, it holds nothing up. Only in quotas it still counts.
-- of: family

do
  -- How much later than its slot what was handed over may start.
  local GRACE = 50000

  -- What a claim finds in hand is marked. What is left of it, once it could have started, is overdue; and what is in hand then is marked.
  -- A job is handed over before its slot by as much as the claim looks ahead.
  local function overdue_at(total)
    return total.markedAt + total.markedAhead + (total.marked - total.overdue) * total.interval + GRACE
  end

  -- All others wait for the job that has the only slot, whatever their workers do.
  local function is_busy(total) return total.grants > 0 and family.has_one_slot(total) end

  -- When less will count as handed over, for a claim that looks ahead; Infinity: all that was handed over is overdue.
  function family.overdue_from(total)
    return not is_busy(total) and total.inHanded - total.grants > total.overdueJobs and overdue_at(total) + total.markedAhead or INF
  end

  -- A claim chooses among those below the total, for slots up to `horizon`. `epoch`: the last one that was given.
  function family.heed_overdue(total, horizon, epoch)
    if total.inHanded == 0 or is_busy(total) then return end
    local ahead = math.max(0, horizon - time_read)
    total.markedAhead = math.max(total.markedAhead, ahead)
    if overdue_at(total) > time_read then return end
    total.overdue, total.overdueJobs, total.overdueTo = total.marked, total.markedJobs, total.markedTo
    total.marked, total.markedJobs, total.markedTo = total.handed, total.inHanded - total.grants, epoch
    total.markedAt, total.markedAhead = time_read, ahead
    family.touch(total)
  end

  -- See usage.count_handed.
  function family.note_in_hand(bucket, epoch, units)
    local jobs = units < 0 and -1 or 1
    for _, total in ipairs(family.totals_of(bucket)) do
      if epoch <= total.markedTo then
        total.marked, total.markedJobs = math.max(0, total.marked + units), math.max(0, total.markedJobs + jobs)
      end
      if epoch <= total.overdueTo then
        total.overdue, total.overdueJobs = math.max(0, total.overdue + units), math.max(0, total.overdueJobs + jobs)
      end
    end
  end

  -- A job that was handed over by that epoch starts. Those behind it may wait for the same handlers: they have their time from now on, or
  -- more and more would pile up there.
  function family.note_start(total, epoch)
    if epoch <= total.markedTo then total.markedAt = time_read end
  end
end
