#!lua flags=no-writes
-- One slice of all live totals, in no order: what each that is asked for is sorted by.
-- uses: shard forward job warmth quota room calendar usage parts packed stored costs charge remembered change lost moved bucket pace member summed chain total
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', cursor ('0' begins), how many to look at, how their paths begin | '', 'path' | 'fill' | 'waiting' | 'running'
-- Answers  { next cursor ('0': that was all), value, path, ... }

expect_arguments(5)
read_now(ARGV[1])
local head, column = ARGV[4], ARGV[5]
local page = redis.call('HSCAN', K.totals, ARGV[2], 'COUNT', whole(ARGV[3]))

local function value_of(total)
  if column == 'path' then return total.key end
  return string.format('%.17g', column == 'fill' and total.waiting / total.capacity or column == 'waiting' and total.waiting or total.running)
end

local answer = { page[1] }
for index = 1, #page[2], 2 do
  local path = page[2][index]
  if string.sub(path, 1, #head) == head then
    -- A foreign record must not hide the other totals; inspecting that path raises the error.
    local is_readable, total = pcall(family.total, path)
    if is_readable and total then answer[#answer + 1], answer[#answer + 2] = value_of(total), path end
  end
end
return answer
