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

-- Stops the script because of its arguments. As above: only before the first write.
local function refuse_arguments()
  error({ err = 'VR_ARGUMENT' })
end

local function expect_arguments(least)
  if #ARGV < least then refuse_arguments() end
end

local function number_or_inf(text)
  local value = tonumber(text)
  if value == nil or value ~= value then refuse_arguments() end
  return value
end

local function number(text)
  local value = number_or_inf(text)
  if value - value ~= 0 then refuse_arguments() end
  return value
end

-- A number of things; -0 becomes 0, which commands of Redis want.
local function whole(text)
  local value = number(text)
  if value < 0 or value % 1 ~= 0 or value > 2147483647 then refuse_arguments() end
  return value + 0
end

-- How many items of `size` arguments follow ARGV[at], all of which are there.
local function count(at, size)
  local items = whole(ARGV[at])
  expect_arguments(at + items * size)
  return items
end

-- Checks that of each of so many items, which begin at ARGV[first], the arguments at these places are numbers; 0 is the first.
local function expect_numbers(first, size, items, ...)
  local places = { ... }
  for at = first, first + (items - 1) * size, size do
    for _, place in ipairs(places) do number(ARGV[at + place]) end
  end
end

-- A number of a reply: a whole number as it is, which is fast; else as text, because Redis truncates numbers.
local function text(value)
  if value % 1 == 0 and value < 9007199254740992 and value > -9007199254740992 then return value end
  return string.format('%.17g', value)
end

-- The time that the script works with, once it is read.
local time_read

-- Microseconds. The clock is read once; a test passes its own time.
local function read_now(given)
  if given ~= '' then
    time_read = number(given)
  else
    local time = redis.call('TIME')
    time_read = time[1] * 1000000 + time[2]
  end
  return time_read
end
