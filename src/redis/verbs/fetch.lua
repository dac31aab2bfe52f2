#!lua flags=no-writes
-- The data of jobs that were handed over, where they are too large to travel with their slots.
-- uses: shard job state
--
-- KEYS[1]  the shard's tag
-- ARGV     number of jobs (1 to 50), then for each: id, epoch
-- Answers  { 'yes', data | 'stale' | 'foreign', ... }: 'stale' where the job is not the caller's any more

local answers = {}

local function read(id, epoch)
  local state = read_state(id)
  local job = state.epoch == epoch and read_job(id)
  if not job or state.state ~= 'handed' and state.state ~= 'granted' then return 'stale' end
  return 'yes', data_of(job)
end

for index = 1, count(1, 2) do
  -- One that cannot be read must not cost the others theirs.
  local is_readable, said, data = pcall(read, ARGV[index * 2], number(ARGV[index * 2 + 1]))
  answers[#answers + 1] = is_readable and said or 'foreign'
  if is_readable then answers[#answers + 1] = data end
end
return answers
