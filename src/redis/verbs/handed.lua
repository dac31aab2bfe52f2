#!lua flags=no-writes
-- Which jobs are still handed over under an epoch, whatever their state since. A job that is not never is again under the same epoch.
-- uses: shard state
--
-- KEYS[1]  the shard's tag
-- ARGV     number of jobs (1 to MOST_PER_CALL), then for each: id, epoch
-- Answers  { '1' | '0', ... }: '1' also for one that cannot be read

local answers = {}
for index = 1, count(1, 2) do
  local is_readable, state = pcall(read_state, ARGV[index * 2])
  local is_held = not is_readable or HELD[state.state] and state.epoch == number(ARGV[index * 2 + 1])
  answers[index] = is_held and '1' or '0'
end
return answers
