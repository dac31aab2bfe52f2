-- The beginning of every script: reading and writing numbers, the time, and errors.

local INF = math.huge

-- Stops the script because of a foreign value. Only before the first write, so that nothing is half done.
local function foreign(what)
  error({ err = 'VR_FOREIGN ' .. what })
end

-- Stops the script because keys are missing, as on a node of a cluster that has only some keys of a slot.
local function partial(what)
  error({ err = 'VR_PARTIAL ' .. what })
end

local function number(text)
  local value = tonumber(text)
  if value == nil or value ~= value then error({ err = 'VR_ARGUMENT' }) end
  return value
end

-- A number of a reply: a whole number as it is, which is fast; else as text, because Redis truncates numbers.
local function text(value)
  if value % 1 == 0 and value < 9007199254740992 and value > -9007199254740992 then return value end
  return string.format('%.17g', value)
end

-- Microseconds. The clock is read once; a test passes its own time.
local function read_now(given)
  if given ~= '' then return number(given) end
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end
