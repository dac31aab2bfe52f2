#!lua flags=allow-oom
-- Moves the end of leases of jobs that the caller still holds.
-- uses: shard state
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', lease, number of jobs (1 to 200), then for each: id, epoch
-- Answers  { '1' | '0', ... }: '0' where the lease was lost

local now = read_now(ARGV[1])
local lease = number(ARGV[2])
expect('states', 'leases')
local HELD = { handed = true, granted = true, running = true }
local answers = {}
for index = 1, number(ARGV[3]) do
  local id, epoch = ARGV[2 + index * 2], number(ARGV[3 + index * 2])
  local state = read_state(id)
  local is_held = state.epoch == epoch and HELD[state.state] == true
  if is_held then redis.call('ZADD', K.leases, now + lease, id) end
  answers[index] = is_held and '1' or '0'
end
return answers
