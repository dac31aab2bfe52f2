-- Warm-up of a bucket: src/core/warmth.ts, operation by operation, so that both give the same bits.

local function spacing(limit, warmth, units)
  local interval, warm_up, cold = limit.interval, limit.warmUp, limit.coldInterval
  if warmth >= warm_up then return interval * units end
  local slope = (cold - interval) / warm_up
  local first = cold - slope * warmth
  if units <= 1 then return first * units end
  local enough = (warm_up - warmth) / first
  local sums, sum, steps = {}, 1, 1
  while sum < enough and steps < units do
    sums[#sums + 1] = sum
    sum = sum * (2 - slope * sum)
    steps = steps * 2
  end
  local taken, total = 0, 0
  for power = #sums, 1, -1 do
    steps = steps / 2
    local further = total + sums[power] * (1 - slope * total)
    if taken + steps < units and further < enough then taken, total = taken + steps, further end
  end
  return first * (total + (1 - slope * total)) + interval * (units - taken - 1)
end

local function warmed_by(limit, warmth, time)
  return math.min(limit.warmUp, warmth + time)
end

local function cooled_by(warmth, idle)
  return math.max(0, warmth - idle)
end

-- Advances the projection past one job: see src/core/projection.ts.
local function advance(projection, limit, cost, ready_at)
  local slot = math.max(projection.slot, ready_at or projection.slot)
  local warmth = cooled_by(projection.warmth, slot - projection.slot)
  local wait = spacing(limit, warmth, cost)
  projection.slot, projection.warmth = slot + wait, warmed_by(limit, warmth, wait)
end
