#!lua flags=allow-oom
-- Moves the end of leases of jobs that the caller still holds. With epoch 0: of the places of turns, from admission on;
-- one that was handed over has a lease of its own, which is short until it has started.
-- uses: shard forward loss lease state
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '', lease, number of jobs (0 to MOST_PER_CALL), then for each: id, epoch
-- Answers  { '1' | '0', ... }: '0' where the lease was lost

local now = read_now(ARGV[1])
local lease, jobs = number(ARGV[2]), count(3, 2)
expect_numbers(4, 2, jobs, 1)
expect('meta', 'jobs', 'states', 'leases')
local meta = read_meta()
expect_states(4, 2)
note_activity(meta, now)
local WAITS = { waiting = true, retrying = true }
local answers = {}
for index = 1, jobs do
  local id, epoch = ARGV[2 + index * 2], number(ARGV[3 + index * 2])
  -- One that cannot be read must not cost the others their leases.
  local is_known, state = pcall(read_state, id)
  if not is_known then state = {} end
  local is_held = state.epoch == epoch and HELD[state.state] == true
  local is_place = epoch == 0 and is_turn(id) and redis.call('HEXISTS', K.jobs, id) == 1
  local is_news = is_held and is_turn(id) and state.state ~= 'running'
  local time = is_news and math.min(lease, NEWS) or lease
  if is_held or is_place and WAITS[state.state] then hold_lease(meta, id, now + time) end
  is_held = is_held or is_place and state.endedAt == -1
  answers[index] = is_held and '1' or '0'
end
return answers
