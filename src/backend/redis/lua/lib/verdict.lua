-- The verdict at the rope: `judge` of src/core/verdict.ts for a line that stands in Redis.

-- Microseconds: two steps of a double at the present epoch.
local ROUNDING = 0.5

-- When a newcomer departs, and which position he gets.
local function behind(bucket, now)
  local course = course_of(bucket, now)
  local granted = bucket.granted ~= '' and 1 or 0
  if retrying(bucket) == 0 then
    local units = bucket.waiting - bucket.grantedCost
    return course.slot + spacing(bucket, course.warmth, units), bucket.inLine + bucket.inHanded + 1
  end
  local ahead = in_order(bucket, now, true)
  local units = 0
  for _, guest in ipairs(ahead) do
    follow(course, bucket, guest.cost, guest.readyAt)
    units = units + guest.cost
  end
  local unseen = bucket.inLine > FARTHEST_LOOK and bucket.waiting - bucket.grantedCost - units or 0
  local hidden = math.max(0, bucket.inLine - FARTHEST_LOOK)
  return course.slot + spacing(bucket, course.warmth, math.max(0, unseen)), #ahead + hidden + granted + 1
end

-- When `units` cost units will have departed; one interval from now where the head is due and still waits.
local function departure_of(units, bucket, now)
  local open = units - bucket.grantedCost
  local course = course_of(bucket, now)
  local slot = bucket.grantedSlot
  if bucket.granted == '' or open > 0 then
    local seen, together = 0, 0
    local jobs = bucket.inLine + bucket.inHanded - (bucket.granted ~= '' and 1 or 0)
    if retrying(bucket) == 0 and jobs == bucket.waiting - bucket.grantedCost then
      slot = course.slot + spacing(bucket, course.warmth, open - 1)
    else
      -- A refusal looks at the line as it stands, whoever is ready when.
      for _, guest in ipairs(in_order(bucket, -INF, false)) do
        if guest.readyAt then
          follow(course, bucket, together)
          follow(course, bucket, 0, guest.readyAt)
          together = 0
        end
        open = open - guest.cost
        if open <= 0 then break end
        together = together + guest.cost
        seen = seen + 1
        if seen == FARTHEST_LOOK then break end
      end
      follow(course, bucket, together + math.max(0, open))
      slot = course.slot
    end
  end
  return slot > now and slot or now + spacing(bucket, course.warmth, 1)
end

-- Answers departsAt and position; or nil, the reason, and when the same request would be accepted.
local function judge(bucket, cost, deadline, now)
  if cost > bucket.capacity then return nil, 'too-costly', INF end
  local departs_at, position = behind(bucket, now)
  local late = departs_at - deadline
  local in_time = late > ROUNDING and now + late or now
  local excess = bucket.waiting + cost - bucket.capacity
  if excess > 0 then
    local room = departure_of(excess, bucket, now)
    if in_time > room then return nil, 'deadline', in_time end
    return nil, bucket.paused == 1 and 'paused' or 'full', room
  end
  if in_time > now then return nil, 'deadline', in_time end
  if bucket.paused == 1 and deadline ~= INF then return nil, 'paused', now + bucket.interval end
  return departs_at, position
end
